"""Kohort publishes data about people without giving anybody away.

An algorithm is a function from a Problem to a Recoding. Everything else prepares the Problem, applies the
Recoding, proves that the published table keeps its promise, or shows it to a person.
"""

from kohort.late import late_names

__all__, __getattr__ = late_names(
    __name__,
    {
        "kohort.algorithms.alpha_k.progressive": "Progressive",
        "kohort.algorithms.alpha_k.top_down": "TopDown",
        "kohort.algorithms.closed_records.k_anon": "KAnon",
        "kohort.algorithms.closed_records.k_anon_cf": "KAnonCF",
        "kohort.algorithms.closed_records.optimal": "Optimal",
        "kohort.algorithms.clustering.agglomerative": "Agglomerative",
        "kohort.algorithms.clustering.hilbert": "Hilbert",
        "kohort.algorithms.clustering.sequential": "Sequential",
        "kohort.algorithms.full_domain.full_domain": "FullDomain",
        "kohort.algorithms.full_domain.incognito": "Incognito",
        "kohort.algorithms.graph.fixed_k": "ThreeAnonymity TwoAnonymity",
        "kohort.algorithms.graph.forest": "Forest",
        "kohort.algorithms.improve.improve": "Improve",
        "kohort.algorithms.items.cuts": "AprioriItems DirectItems VerticalItems",
        "kohort.algorithms.items.improve": "ImproveItems",
        "kohort.algorithms.items.local": "LocalItems",
        "kohort.algorithms.items.optimal": "OptimalItems",
        "kohort.algorithms.microaggregation.mdav": "Mdav",
        "kohort.algorithms.mondrian.mondrian": "Mondrian",
        "kohort.algorithms.schemes.enumeration": "BottomUp TopDownSearch",
        "kohort.algorithms.schemes.optimal_recoding": "OptimalRecoding",
        "kohort.api": (
            "anonymize apply_maps attack_releases compare frontier mine_closed_records profile "
            "read_hierarchy verify"
        ),
        "kohort.data.hierarchies.build_hierarchy": "auto",
        "kohort.data.hierarchies.categories": "code flat groups mask",
        "kohort.data.hierarchies.dates": "dates",
        "kohort.data.hierarchies.intervals": "intervals quantiles",
        "kohort.data.hierarchies.orders": "by_frequency order",
        "kohort.data.hierarchy": "Hierarchy",
        "kohort.data.numeric_labels": "as_numbers",
        "kohort.datasets": "datasets",
        "kohort.errors": (
            "InfeasibleError InputError InternalError KohortError MissingPackageError UnsupportedError"
        ),
        "kohort.io.databases": "database",
        "kohort.problem.promises": (
            "AlphaDeassociation BetaLikeness DeltaDisclosure DeltaPresence DifferentialPrivacy "
            "ItemConfidence KAnonymity KmAnonymity KMap KnownColumns LDiversity PopulationUniqueness "
            "RhoUncertainty RiskLimit TCloseness"
        ),
        "kohort.release.release": "Release",
        "kohort.risk": "assess_risk",
        "kohort.statement": "Items",
        "kohort.statement.words": "Events Ledger Person column file",
        "kohort.treatments": "Limits Noise Pram RankSwap Rounding",
        "kohort.utility": "measure_utility",
        "kohort.verification": "Verdict",
        "kohort.version": "__version__",
    },
)
"""Every public name is imported when it is first used, so that `import kohort` is instant."""


def __dir__() -> list[str]:
    return __all__
