"""BibTeX entries of papers that stand behind more than one class, or together behind one."""

ADAR_2007 = """
@inproceedings{adar2007user,
  author    = {Adar, Eytan},
  title     = {User 4{XXXXX}9: Anonymizing Query Logs},
  booktitle = {Query Log Analysis Workshop at the 16th International Conference on World Wide
               Web},
  year      = {2007}
}
"""

CAO_2010 = """
@article{cao2010rho,
  author  = {Cao, Jianneng and Karras, Panagiotis and Ra{\\"i}ssi, Chedy and Tan, Kian-Lee},
  title   = {{\\rho}-uncertainty: Inference-Proof Transaction Anonymization},
  journal = {Proceedings of the VLDB Endowment},
  volume  = {3}, number = {1}, pages = {1033--1044}, year = {2010}
}
"""

EVFIMIEVSKI_2002 = """
@inproceedings{evfimievski2002privacy,
  author    = {Evfimievski, Alexandre and Srikant, Ramakrishnan and Agrawal, Rakesh and
               Gehrke, Johannes},
  title     = {Privacy Preserving Mining of Association Rules},
  booktitle = {Proceedings of the 8th ACM SIGKDD International Conference on Knowledge Discovery
               and Data Mining},
  pages     = {217--228}, year = {2002}
}
"""

GHINITA_2008 = """
@inproceedings{ghinita2008anonymization,
  author    = {Ghinita, Gabriel and Tao, Yufei and Kalnis, Panos},
  title     = {On the Anonymization of Sparse High-Dimensional Data},
  booktitle = {Proceedings of the 24th IEEE International Conference on Data Engineering},
  pages     = {715--724}, year = {2008}
}
"""

HE_2009 = """
@article{he2009anonymization,
  author  = {He, Yeye and Naughton, Jeffrey F.},
  title   = {Anonymization of Set-Valued Data via Top-Down, Local Generalization},
  journal = {Proceedings of the VLDB Endowment},
  volume  = {2},
  number  = {1},
  pages   = {934--945},
  year    = {2009}
}
"""

SWEENEY_2002 = """
@article{sweeney2002kanonymity,
  author  = {Sweeney, Latanya},
  title   = {k-Anonymity: A Model for Protecting Privacy},
  journal = {International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems},
  volume  = {10}, number = {5}, pages = {557--570}, year = {2002}
}
"""

TERROVITIS_2008 = """
@article{terrovitis2008privacy,
  author  = {Terrovitis, Manolis and Mamoulis, Nikos and Kalnis, Panos},
  title   = {Privacy-Preserving Anonymization of Set-Valued Data},
  journal = {Proceedings of the VLDB Endowment},
  volume  = {1}, number = {1}, pages = {115--125}, year = {2008}
}
"""

TERROVITIS_2011 = """
@article{terrovitis2011local,
  author  = {Terrovitis, Manolis and Mamoulis, Nikos and Kalnis, Panos},
  title   = {Local and Global Recoding Methods for Anonymizing Set-Valued Data},
  journal = {The VLDB Journal},
  volume  = {20}, number = {1}, pages = {83--106}, year = {2011}
}
"""

TERROVITIS_2012 = """
@article{terrovitis2012disassociation,
  author  = {Terrovitis, Manolis and Liagouris, John and Mamoulis, Nikos and Skiadopoulos, Spiros},
  title   = {Privacy Preservation by Disassociation},
  journal = {Proceedings of the VLDB Endowment},
  volume  = {5}, number = {10}, pages = {944--955}, year = {2012}
}
"""

XU_2008 = """
@inproceedings{xu2008anonymizing,
  author    = {Xu, Yabo and Wang, Ke and Fu, Ada Wai-Chee and Yu, Philip S.},
  title     = {Anonymizing Transaction Databases for Publication},
  booktitle = {Proceedings of the 14th ACM SIGKDD International Conference on Knowledge
               Discovery and Data Mining},
  pages     = {767--775},
  year      = {2008}
}
"""
