"""A DeepSeek Sparse Attention step over real text: the parts of ``tools/demo.py``."""
