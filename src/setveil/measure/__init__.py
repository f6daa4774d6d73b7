"""What a release is worth: plain functions of a release and the original it was made from."""

from setveil.attack.elimination.calibration import Bin, calibration_error, reliability
from setveil.attack.elimination.elimination_score import PartScore, score_items, score_records
from setveil.attack.inference import item_equivocation
from setveil.attack.randomized.noise_filter import noise_removed, score_filter
from setveil.attack.randomized.public_records import score_ranks
from setveil.attack.reassociation.word_mover import WordMover
from setveil.core.interval import Rate
from setveil.measure.disassociation import (
    linked_share,
    pair_support_error,
    profile_link,
    terms_lost,
)
from setveil.measure.equivocation import (
    conditional_equivocation,
    equivocation,
    equivocation_area,
    equivocation_curve,
)
from setveil.measure.generalization import (
    average_loss,
    ggd,
    ggd_exact,
    ggd_share,
    items_exact,
    items_kept,
    items_suppressed,
    length_mean,
    level_mean,
    ncp,
    records_kept,
    ul,
    ul_exact,
    ul_log2,
)
from setveil.measure.itemsets import (
    Rule,
    RulesKept,
    certain_itemset_loss,
    multilevel_itemset_loss,
    rules_kept,
    rules_of,
    top_itemsets,
    top_k_itemset_loss,
)
from setveil.measure.perturbation import items_shown, items_true, perturbation_loss
from setveil.measure.profile import Profile, cell_density, profile, ttr
from setveil.measure.queries import QueryError, average_relative_error, draw_queries
from setveil.measure.reconstruction import (
    ReconstructionError,
    mean_reconstruction_error,
    reconstruction_error,
)
from setveil.measure.summary import (
    flat,
    measure_all,
    score,
    score_elimination,
    score_inference,
    score_linkage,
    score_noise,
    score_public_records,
    score_reassociation,
    score_tokens,
)
from setveil.measure.targets import draw_questions, draw_targets
from setveil.measure.uniqueness import uniqueness

__all__ = [
    "Bin",
    "PartScore",
    "Profile",
    "QueryError",
    "Rate",
    "ReconstructionError",
    "Rule",
    "RulesKept",
    "WordMover",
    "average_loss",
    "average_relative_error",
    "calibration_error",
    "cell_density",
    "certain_itemset_loss",
    "conditional_equivocation",
    "draw_queries",
    "draw_questions",
    "draw_targets",
    "equivocation",
    "equivocation_area",
    "equivocation_curve",
    "flat",
    "ggd",
    "ggd_exact",
    "ggd_share",
    "item_equivocation",
    "items_exact",
    "items_kept",
    "items_shown",
    "items_suppressed",
    "items_true",
    "length_mean",
    "level_mean",
    "linked_share",
    "mean_reconstruction_error",
    "measure_all",
    "multilevel_itemset_loss",
    "ncp",
    "noise_removed",
    "pair_support_error",
    "perturbation_loss",
    "profile",
    "profile_link",
    "reconstruction_error",
    "records_kept",
    "reliability",
    "rules_kept",
    "rules_of",
    "score",
    "score_elimination",
    "score_filter",
    "score_inference",
    "score_items",
    "score_linkage",
    "score_noise",
    "score_public_records",
    "score_ranks",
    "score_reassociation",
    "score_records",
    "score_tokens",
    "terms_lost",
    "top_itemsets",
    "top_k_itemset_loss",
    "ttr",
    "ul",
    "ul_exact",
    "ul_log2",
    "uniqueness",
]
