"""The any-order item index: which codes can still become an item, whatever slots are filled."""
