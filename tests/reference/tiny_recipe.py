"""A LLaDA-Rec that embeds, tokenizes and trains in about a second: for tests of everything around it."""

TINY = """
[model]
key = "llada-rec"
d_model = 8
n_heads = 2
n_layers = 1
[model.search]
beam_size = 10
[model.embedding]
encoder = "tfidf"
[model.tokenize]
tokenizer = "rq-kmeans"
options = { n_codes = 3, codebook_size = 16, pca = 16 }
[model.training]
epochs = 1
batch_size = 64
"""
