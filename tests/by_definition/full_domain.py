"""All full-domain generalizations of a tiny table, by definition: what each withholds, and what it costs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from by_definition.alpha_k import full_domain_generalizations
from by_definition.costs import PlainAttribute, costs
from by_definition.domains import Generalized, domain_of
from kohort.problem.promises import ClassCounts


def full_domain_releases(problem, models, paths):
    """Levels, withheld records and cost of each one that satisfies the models within the limit."""
    domains = [domain_of(a.column, paths=paths.get(a.name)) for a in problem.attributes]
    texts = [[a.column.texts[code] for code in a.column.codes] for a in problem.attributes]
    for levels, looks in full_domain_generalizations(domains, texts):
        withheld = withheld_records(problem, models, domains, looks)
        if withheld is not None:
            plain = [
                PlainAttribute(
                    domain,
                    column,
                    [
                        _generalized(domain, domain.root if gone else look[j])
                        for look, gone in zip(looks, withheld)
                    ],
                    Fraction(a.weight),
                )
                for j, (domain, column, a) in enumerate(zip(domains, texts, problem.attributes))
            ]
            yield levels, sum(withheld), costs(plain, looks, withheld)[problem.cost.name]


def withheld_records(problem, models, domains, looks):
    """Records of failing classes, and of the class that looks like them; None if they are too many."""
    number = {look: i for i, look in enumerate(dict.fromkeys(looks))}
    class_of = np.array([number[look] for look in looks])
    holds = np.logical_and.reduce([satisfied(problem, model, class_of) for model in models])
    failing = {look for look in number if not holds[number[look]]}
    sizes = Counter(looks)
    gone = failing | ({tuple(domain.root for domain in domains)} & set(sizes))
    if sum(sizes[look] for look in gone) > problem.max_withheld:
        gone = set()
        if failing:
            return None
    return [look in gone for look in looks]


def satisfied(problem, model, class_of):
    if not model.attribute:
        return model.holds(ClassCounts.of_sizes(np.bincount(class_of)))
    sensitive = problem.sensitive[model.attribute]
    n_classes = class_of.max() + 1
    counts = ClassCounts.from_records(class_of, sensitive.column.codes, n_classes, sensitive.n_values)
    return model.holds(counts, sensitive.context)


def _generalized(domain, node):
    height = domain.height(domain.root)
    return Generalized(
        domain.leaves_under(node), domain.height(node) / height if height else 0.0, node == domain.root
    )
