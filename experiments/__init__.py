"""The papers' claims, measured on public data: one module per experiment.

``python -m experiments`` lists them; each writes its figures to ``experiments/results`` and its
part of ``docs/results.md``.
"""
