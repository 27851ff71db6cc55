"""From log-probabilities to items: the search, the item index that keeps it inside the catalogue, and plain top-k."""
