from typing import TypedDict

class _Limits(TypedDict):
    value_dtypes: tuple[str, ...]
    max_rows: int
    max_cols: int
    max_k: int
    row_alignment_bytes: int

class _UbPlan(TypedDict):
    architecture: str
    item_bytes: int
    max_k: int
    ub_bytes: int
    num_candidates: int
    batch_items: int
    num_stages: int
    buffers: tuple[tuple[str, int, int, str], ...]

ASCEND_UB_PLANS: tuple[_UbPlan, ...]
BACKENDS: dict[str, _Limits]
MAX_PAGE_SIZE: int
