"""k^m-anonymity by definition: the literal count-tree, AA, DA and OA of Terrovitis et al. (2008).

A hierarchy is a mapping from a node to its parent; the root has none. A basket is a set of leaves. A cut is a
mapping from each leaf to the node that it is published as.
"""

from __future__ import annotations

from itertools import combinations, product


class Items:
    """Baskets of leaves under a hierarchy given as paths, leaf first, each with the same root last.

    `numbers` orders nodes with equal support and equally many leaves.
    """

    def __init__(self, parent, leaves, baskets, numbers):
        self.parent, self.leaves, self.numbers = parent, list(leaves), numbers
        self.root = next(node for node, above in parent.items() if above is None)
        self.baskets = [set(basket) for basket in baskets]
        self.under = {node: {x for x in self.leaves if node in self.chain(x)} for node in parent}
        self.expanded = [self.expand(basket) for basket in self.baskets]
        counted = sorted(parent, key=lambda x: (-self.support({x}), -len(self.under[x]), numbers[x]))
        self.order = {node: rank for rank, node in enumerate(counted)}

    def chain(self, node):
        """A node and all above it."""
        found = [node]
        while self.parent[found[-1]] is not None:
            found.append(self.parent[found[-1]])
        return found

    def expand(self, basket):
        """A basket with everything above its items, but the root, which is always there."""
        return {node for item in basket for node in self.chain(item)} - {self.root}

    def above(self, a, b):
        """Whether a is an ancestor of b."""
        return a in self.chain(b)[1:]

    def nested(self, nodes):
        return any(self.above(a, b) or self.above(b, a) for a, b in combinations(nodes, 2))

    def support(self, nodes):
        return sum(
            all((x == self.root and b) or x in e for x in nodes) for b, e in zip(self.baskets, self.expanded)
        )

    def itemsets(self, basket, size):
        """The itemsets of an expanded basket that Algorithm 1 inserts, in the order of the tree's paths."""
        ordered = sorted(basket, key=self.order.get)
        for length in range(1, size + 1):
            yield from (c for c in combinations(ordered, length) if not self.nested(c))

    def count_tree(self, size, without=()):
        """Path -> support, for the nodes that are not in `without`."""
        tree = {}
        for basket in self.expanded:
            for path in self.itemsets(basket - set(without), size):
                tree[path] = tree.get(path, 0) + 1
        return tree

    def preorder(self, tree):
        return sorted(tree, key=lambda path: [self.order[node] for node in path])

    # -- cuts ----------------------------------------------------------------------------------

    def no_generalization(self):
        return {leaf: leaf for leaf in self.leaves}

    def generalized(self, cut, node):
        return {leaf: node if leaf in self.under[node] else at for leaf, at in cut.items()}

    def below(self, cut):
        """Nodes that have been generalized."""
        return {x for x in self.parent if any(self.above(at, x) for at in cut.values())}

    def cost(self, cut):
        """Occurrences times leaves: the NCP before it is divided by both totals."""
        widths = {leaf: len(self.under[at]) for leaf, at in cut.items()}
        return sum(widths[item] for basket in self.baskets for item in basket if widths[item] > 1)

    def ncp(self, cut):
        return self.cost(cut) / len(self.leaves) / sum(map(len, self.baskets))

    def is_anonymous(self, cut, k, m):
        published = [{cut[item] for item in basket} for basket in self.baskets]
        return all(
            not 0 < sum(set(nodes) <= basket for basket in published) < k
            for size in range(1, m + 1)
            for nodes in combinations(sorted(set(cut.values()), key=self.order.get), size)
        )

    # -- the algorithms ------------------------------------------------------------------------

    def repaired(self, cut, itemset, k):
        """The cut after the cheapest way to make an itemset k-anonymous."""
        best = None
        for place, nodes in enumerate(product(*map(self.chain, itemset))):
            kept = {x for x in nodes if not any(self.above(y, x) for y in nodes)}
            if self.support(kept) < k:
                continue
            new = cut
            for node in kept - set(itemset):
                new = self.generalized(new, node)
            steps = sum(self.chain(x).index(y) for x, y in zip(itemset, nodes))
            if best is None or (self.cost(new), steps, place) < best[0]:
                best = (self.cost(new), steps, place), new
        return best[1]

    def scan(self, cut, tree, k):
        """The traversal of DA (Algorithm 3)."""
        for path in self.preorder(tree):
            if tree[path] < k and not self.below(cut) & set(path):
                cut = self.repaired(cut, path, k)
        return cut

    def direct(self, k, m):
        return self.scan(self.no_generalization(), self.count_tree(m), k)

    def apriori(self, k, m):
        cut = self.no_generalization()
        for size in range(1, m + 1):
            cut = self.scan(cut, self.count_tree(size, self.below(cut)), k)
        return cut

    def parents_of(self, cut):
        """Immediate ancestors of a cut: the children of one node are replaced by it."""
        at = set(cut.values())
        for node in self.parent:
            children = {x for x, above in self.parent.items() if above == node}
            if children and children <= at:
                yield self.generalized(cut, node)

    def optimal(self, k, m):
        """Algorithm 2: breadth first through the cuts, never above one that is anonymous."""
        queue, seen, best = [self.no_generalization()], set(), None
        while queue:
            cut = queue.pop(0)
            if self.is_anonymous(cut, k, m):
                best = cut if best is None or self.cost(cut) < self.cost(best) else best
                continue
            for above in self.parents_of(cut):
                key = tuple(above.values())
                if key not in seen:
                    seen.add(key)
                    queue.append(above)
        return best

    def all_cuts(self, node=None):
        """Every cut of the hierarchy."""
        node = self.root if node is None else node
        children = [x for x, above in self.parent.items() if above == node]
        yield dict.fromkeys(self.under[node], node)
        for parts in product(*(list(self.all_cuts(child)) for child in children)) if children else ():
            yield {leaf: at for part in parts for leaf, at in part.items()}
