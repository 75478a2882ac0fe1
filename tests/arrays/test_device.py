"""Arrays on a device: they answer NumPy's functions, and move only when they are asked to."""

import os
import subprocess
import sys
import threading
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgError
from scipy.special import expit

from helpers.device import DEVICE, torch_or_skip
from lapwing.arrays import device
from lapwing.arrays.blocks import RowBlocks
from lapwing.arrays.dense_solve import definite_solver, general_solver
from lapwing.arrays.device import (
    active_device,
    block_entries,
    device_tiles,
    follows_tensors,
    is_on_device,
    like,
    map_where,
    on_host,
    to_device,
    use_device,
)
from lapwing.arrays.device_functions import k_smallest_columns
from lapwing.arrays.device_sparse import DeviceSparse, sparse_bytes, sparse_on_device
from lapwing.arrays.device_torch import full_precision, own_errors
from lapwing.arrays.threads import map_blocks
from lapwing.operators.rows import Rows

torch = torch_or_skip()


@pytest.fixture(autouse=True)
def on_device():
    with use_device(DEVICE):
        yield


def rows(n=7, d=5, dtype=np.float64):
    return np.random.default_rng(0).standard_normal((n, d)).astype(dtype)


# ---------------------------------------------------------------- the setting


def test_contexts_end_where_they_began():
    assert active_device() == DEVICE
    with use_device(None):
        assert active_device() is None
        assert to_device(rows()) is not None
        assert not is_on_device(to_device(rows()))
        with use_device(DEVICE):
            assert is_on_device(to_device(rows()))
        assert active_device() is None
    assert active_device() == DEVICE


@pytest.fixture
def nothing_set(monkeypatch):
    """No device, as at the start of a program."""
    token = device._within.set(None)
    monkeypatch.setattr(device, "_calls", ())
    yield
    device._within.reset(token)


def test_a_call_holds_until_the_next_one(nothing_set):
    assert active_device() is None
    use_device(DEVICE)
    assert active_device() == DEVICE
    with use_device(None):
        assert active_device() is None
    assert active_device() == DEVICE
    use_device(None)
    assert active_device() is None


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("before", [None, DEVICE])
def test_contexts_that_begin_at_the_same_time_leave_what_was_set(nothing_set, before, order):
    use_device(before)
    contexts = {"a": use_device(DEVICE), "b": use_device(None)}
    assert active_device() is None
    for name in order:
        contexts[name].__enter__()
    for name in order[::-1]:
        contexts[name].__exit__(None, None, None)
    assert active_device() == before


def test_a_call_between_counts_more_than_the_context_before(nothing_set):
    context = use_device(None)
    use_device(DEVICE)
    with context:
        assert active_device() is None
    assert active_device() == DEVICE


def test_calls_that_do_not_count_any_more_are_forgotten(nothing_set):
    for _ in range(9):
        use_device(DEVICE)
        with use_device(None):
            pass
    assert len(device._calls) <= 2
    assert active_device() == DEVICE


def test_a_context_can_be_entered_again(nothing_set):
    context = use_device(DEVICE)
    for _ in range(2):
        with context, context:
            assert active_device() == DEVICE
        assert active_device() is None


def test_a_context_is_that_of_its_thread_and_of_the_blocks_it_starts(nothing_set, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "2")
    seen, inside, go_on = [], threading.Event(), threading.Event()

    def look():
        inside.wait(10)
        seen.append(active_device())
        go_on.set()

    other = threading.Thread(target=look)
    other.start()
    with use_device(DEVICE):
        inside.set()
        go_on.wait(10)
        assert map_blocks(lambda _: active_device(), range(4)) == [DEVICE] * 4
    other.join()
    assert seen == [None]


def test_the_environment_names_a_device(nothing_set, monkeypatch):
    monkeypatch.setenv("LAPWING_DEVICE", DEVICE)
    assert active_device() == DEVICE
    with use_device(None):  # what is said in the program counts more
        assert active_device() is None


@pytest.mark.parametrize("name", ["gpu", "meta", "cuda:99"])
def test_devices_that_do_not_exist_are_refused(name):
    with pytest.raises(ValueError, match=r"cannot be used .*use_device\(None\)"):
        use_device(name)
    assert active_device() == DEVICE


def test_without_torch_a_device_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "lapwing\[gpu\]"'):
        use_device("cuda")


def test_torch_is_not_imported_for_the_host():
    code = "import sys, lapwing; lapwing.LapSVC().fit([[0.0], [1.0], [5.0], [6.0]], [0, -1, -1, 1])"
    clean = {name: value for name, value in os.environ.items() if name != "LAPWING_DEVICE"}
    code += "; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=clean, check=False).returncode == 0


# ---------------------------------------------------------------- moves


def test_what_moves_and_what_stays():
    for dtype in (np.float64, np.float32, np.int32, np.uint8):
        X = rows().astype(dtype)
        moved = to_device(X)
        assert is_on_device(moved)
        assert moved.dtype == X.dtype
        assert on_host(moved).dtype == X.dtype
        np.testing.assert_array_equal(on_host(moved), X)
    for X in (sp.csr_matrix(rows()), rows() > 0, np.array(["a"]), [[1.0]], None):
        assert to_device(X) is X
        assert on_host(X) is X
    assert is_on_device(like(to_device(rows()), rows()))
    assert not is_on_device(like(rows(), rows()))


@pytest.mark.parametrize(
    "X",
    [
        rows()[::-1],
        rows()[:, ::2],
        np.asfortranarray(rows()),
        rows().astype(">f8"),
        rows().astype(np.longdouble),
        rows()[:0],
        np.zeros(7, dtype=[("a", "i1"), ("b", "f8")])["b"],
    ],
    ids=["reversed", "columns", "fortran", "byte order", "long", "empty", "field"],
)
def test_arrays_of_any_layout_move(X):
    np.testing.assert_array_equal(on_host(to_device(X)), X)


def test_moved_rows_are_a_copy():
    X = rows()
    X.flags.writeable = False
    moved = to_device(X)
    moved *= 2.0
    np.testing.assert_array_equal(on_host(moved), 2.0 * X)
    np.testing.assert_array_equal(X, rows())


def test_what_does_not_fit_stays_on_the_host(monkeypatch):
    monkeypatch.setattr(device, "_SMALL", 0)
    X = rows()
    monkeypatch.setattr(device, "device_budget", lambda: 3 * X.nbytes)
    assert to_device(X) is X
    monkeypatch.setattr(device, "device_budget", lambda: 5 * X.nbytes)
    assert is_on_device(to_device(X))


def test_nothing_is_gathered_silently():
    with pytest.raises(TypeError, match="call on_host"):
        np.asarray(to_device(rows()))
    total = np.zeros((7, 5))
    with pytest.raises(TypeError, match="host memory"):
        total += to_device(rows())
    with pytest.raises(TypeError):
        np.cumsum(to_device(rows()))  # a function that is not answered


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 20.00 GiB",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`",
    ],
)
def test_memory_that_does_not_suffice_has_our_own_error(message):
    with pytest.raises(MemoryError, match="fit fewer rows"), own_errors():
        raise RuntimeError(message)
    with pytest.raises(RuntimeError, match="something else"), own_errors():
        raise RuntimeError("something else")


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_tiles_are_the_rows_in_order(size):
    X = rows(dtype=np.float32)
    found = [on_host(tile).copy() for tile in device_tiles(X, size)]
    assert [len(tile) for tile in found] == [len(X[i : i + size]) for i in range(0, 7, size)]
    np.testing.assert_array_equal(np.concatenate(found), X)


def test_sums_and_maps_over_tiles(monkeypatch):
    monkeypatch.setattr("lapwing.arrays.device._TILE_BYTES", 2)
    X, seen = rows(), []

    def add(sums, tile):
        seen.append(is_on_device(tile))
        sums[0] += tile.sum(axis=0)

    blocks = RowBlocks(lambda: [X[:3], X[3:]], 7)
    [total] = blocks.sum("adding", lambda: [np.zeros(5)], add, 2, uses_device=True)
    np.testing.assert_allclose(total, X.sum(axis=0), rtol=1e-14)
    found = blocks.map("doubling", lambda tile: 2.0 * tile, 2, uses_device=True)
    np.testing.assert_array_equal(found, 2.0 * X)
    assert all(seen)
    seen.clear()
    blocks.sum("adding", lambda: [np.zeros(5)], add, 2)
    assert not any(seen)


# ---------------------------------------------------------------- NumPy's functions

A, B = rows(), np.abs(rows()) + 0.5
FUNCTIONS = {
    "arithmetic": lambda a, b: (2.0 * a - b / 3.0 + 1.0) ** 2,
    "reflected": lambda a, b: 1.0 / (1.0 - a),
    "absolute": lambda a, b: abs(a) + np.abs(-a),
    "exp": lambda a, b: np.exp(a) + np.sqrt(b),
    "maximum": lambda a, b: np.maximum(a, 0.0) + np.minimum(a, b),
    "where": lambda a, b: np.where(a > 0, a, 0.0),
    "compared": lambda a, b: ((a <= b) & (a != 0.0)).astype(np.float64),
    "product": lambda a, b: a @ b.T,
    "row sums": lambda a, b: a.sum(axis=1),
    "all": lambda a, b: a.sum() + a.max() + a.min(),
    "kept": lambda a, b: a - a.max(axis=1, keepdims=True) + a.mean(axis=0),
    "initial": lambda a, b: a.max(axis=0, initial=0.5),
    "transposed": lambda a, b: a.T.copy(),
    "indexed": lambda a, b: a[1:5][:, [3, 0]] + b[np.array([0, 2, 2, 6])][:, :2],
    "new axis": lambda a, b: a[:, None, :2] * b[None, :, :2],
    "pairs": lambda a, b: a[np.array([0, 3]), np.array([1, 4])],
    "einsum": lambda a, b: np.einsum("ij,ij->i", a, b) + np.einsum("ij,j->i", a, b[0]),
    "columns": lambda a, b: np.einsum("ij,ij->j", a, b),
    "joined": lambda a, b: np.hstack([np.concatenate([a, b]), np.vstack([b, a])]),
    "divided": lambda a, b: np.divide(a, b, where=a > 0, out=np.zeros_like(a)),
    "norms": lambda a, b: np.linalg.norm(a, axis=0),
    "shapes": lambda a, b: a.reshape(5, 7).ravel()[:4] + len(b) + a.ndim + a.size,
    "powers of two": lambda a, b: np.ldexp(0.75, np.frexp(a)[1] + 3),
    "largest": lambda a, b: a.argmax(axis=1).astype(np.float64),
    "smooth": lambda a, b: np.log1p(b) + expit(30.0 * a) * np.sign(a),
    "every": lambda a, b: (a > -1.0).all(axis=0).astype(np.float64),
    "smallest": lambda a, b: np.partition(a, 1, axis=1)[:, :2].max(axis=1),
    "gathered": lambda a, b: np.take_along_axis(a, (a > 0).astype(np.int64), axis=1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(name):
    found = FUNCTIONS[name](to_device(A), to_device(B))
    assert is_on_device(found)
    np.testing.assert_allclose(on_host(found), FUNCTIONS[name](A, B), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_of_the_host_follow(name):
    found = FUNCTIONS[name](to_device(A), B)
    np.testing.assert_allclose(on_host(found), FUNCTIONS[name](A, B), rtol=1e-14, atol=1e-15)


def test_changes_in_place():
    ours, theirs = to_device(A), A.copy()
    same = ours
    for X in (ours, theirs):
        X *= 2.0
        X -= 1.0
        X /= 3.0
        X += X.sum(axis=0)
        np.exp(X, out=X)
        np.maximum(X, 1.0, out=X)
        X[2:4] = 0.5
        X[:, 1] = np.arange(7.0)
        X[np.arange(5), np.arange(5)] += 1.0
        np.fill_diagonal(X[:5], 9.0)
    assert same is ours
    np.testing.assert_allclose(on_host(ours), theirs, rtol=1e-14)


@pytest.mark.parametrize("key", [np.array([2, 0]), (np.array([2, 0]), slice(0, 4)), slice(0, 2)])
def test_what_is_assigned_takes_the_precision_of_the_array(key):
    values = np.arange(8.0).reshape(2, 4) / 3.0
    expected = np.zeros((3, 4), np.float32)
    expected[key] = values
    with use_device(DEVICE):
        found = to_device(np.zeros((3, 4), np.float32))
        found[key] = to_device(values)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(on_host(found), expected)


class NoMemoryAt(torch.overrides.TorchFunctionMode):
    """Let memory run out in one of the functions of torch, counted from zero."""

    def __init__(self, step):
        super().__init__()
        self.steps_left = step

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function.__name__ not in ("__get__", "__len__", "device", "numel"):
            self.steps_left -= 1
            if self.steps_left == -1:
                raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return function(*args, **(kwargs or {}))


def assign(a, b):
    a[:2] = b[:2].astype(np.float32)
    a[np.array([0, 1])] = B[:2]
    np.exp(a, out=a)
    np.divide(a, b, where=b > 0, out=a)
    np.fill_diagonal(a[:5], 1.0)


STEPS = {
    **FUNCTIONS,
    "assigned": assign,
    "moved": lambda a, b: (like(a, A), to_device(A), to_device(A.astype(np.float32)) * b),
    "read": lambda a, b: (on_host(a), float(a[0, 0]), int(b[0, 0]), bool(a[0, 0] > 0)),
    "every one": lambda a, b: ((a > 0).any(), (a > 0).all(), (a > 0).all(axis=1), np.ones_like(a)),
    "decomposed": lambda a, b: (np.linalg.qr(a), np.linalg.eigh(a.T @ a)),
    "chosen": lambda a, b: (np.flatnonzero(a[0] > 0), k_smallest_columns(a, 2), np.hsplit(a, 5)),
    "solved": lambda a, b: definite_solver(a.T @ a)(A[:5]),
    "system": lambda a, b: general_solver(a.T @ a)(A[:5]),
    "sparse": lambda a, b: DeviceSparse(sp.csr_matrix(A.T), a.tensor.device) @ b,
    "tiles": lambda a, b: [tile.sum() for tile in device_tiles(A, 3)],
    "tensors": lambda a, b: Doubling(torch.device(DEVICE).type).double(a.tensor),
}


@pytest.mark.parametrize("name", STEPS)
def test_memory_may_run_out_in_every_step(name):
    for step in range(60):
        a, b = to_device(A), to_device(B)
        with suppress(MemoryError), NoMemoryAt(step) as mode:  # no other error
            STEPS[name](a, b)
        if mode.steps_left >= 0:  # there are no more steps
            break
        assert mode.steps_left == -1  # the error is not lost
    assert 0 < step < 59


@pytest.mark.parametrize("name", STEPS)
def test_the_default_device_of_torch_is_of_no_effect(name):
    a, b = to_device(A), to_device(B)
    before = STEPS[name](to_device(A), to_device(B))
    with torch.device("meta"):  # an array there would have no values
        found = STEPS[name](a, b)
    if name in FUNCTIONS:
        np.testing.assert_array_equal(on_host(found), on_host(before))
    if name == "tiles":
        assert list(map(float, found)) == list(map(float, before))


def test_single_precision_stays_single():
    X = to_device(A.astype(np.float32))
    assert (2.0 * X + 1).dtype == np.float32
    assert (X @ X.T).dtype == np.float32
    assert (X - A).dtype == np.float64
    assert (X @ A.T).dtype == np.float64
    assert X.astype(np.float64).dtype == np.float64
    assert (X * np.float64(2.0)).dtype == np.float64  # as NumPy does
    whole = to_device(np.arange(6).reshape(2, 3))
    assert (whole / 3).dtype == np.sqrt(whole).dtype == np.float64
    assert on_host(whole[np.array([1, 0], dtype=np.uint8)]).tolist() == [[3, 4, 5], [0, 1, 2]]


def test_decompositions():
    S = to_device(A.T @ A)
    values, vectors = np.linalg.eigh(S)
    np.testing.assert_allclose(on_host((vectors * values) @ vectors.T), A.T @ A, atol=1e-13)
    Q, R = np.linalg.qr(to_device(A))
    np.testing.assert_allclose(on_host(Q @ R), A, atol=1e-14)


def test_indices_are_on_the_host():
    found = np.flatnonzero(to_device(A[0]) > 0)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, np.flatnonzero(A[0] > 0))


@given(st.integers(1, 12), st.integers(0, 2**31 - 1))
def test_k_smallest_of_each_row(k, seed):
    X = np.random.default_rng(seed).integers(0, 9, (6, 12)).astype(np.float64)
    with use_device(DEVICE):
        values, columns = map(on_host, k_smallest_columns(to_device(X), k))
    np.testing.assert_array_equal(values, np.sort(X, axis=1)[:, :k])
    np.testing.assert_array_equal(np.take_along_axis(X, columns, 1), values)


# ---------------------------------------------------------------- systems and sparse products


def test_systems():
    rng = np.random.default_rng(0)
    M, rhs = rng.standard_normal((30, 30)) + 9.0 * np.eye(30), rng.standard_normal((30, 4))
    for A, solver in ((M, general_solver), (M @ M.T, definite_solver)):
        expected = np.linalg.solve(A, rhs)
        for system in (np.asfortranarray(A), to_device(A)):
            np.testing.assert_allclose(solver(system)(rhs), expected, rtol=1e-10, atol=1e-12)
    for system in (-M @ M.T, to_device(-M @ M.T)):
        with pytest.raises(LinAlgError):
            definite_solver(system)


def test_sparse_products_repeat_to_the_bit():
    rng = np.random.default_rng(0)
    M = sp.random(200, 90, 0.1, format="lil", random_state=0)
    M[7], M[:5] = rng.standard_normal(90), 0.0  # a row of many entries, and rows without any
    M, V = M.tocsr(), to_device(rng.standard_normal((90, 40)))
    matrix = DeviceSparse(M, V.tensor.device)
    first = on_host(matrix @ V)
    np.testing.assert_allclose(first, M @ on_host(V), rtol=1e-12, atol=1e-13)
    for columns in (slice(0, 40), slice(3, 30), slice(39, 40)):
        np.testing.assert_array_equal(on_host(matrix @ V[:, columns]), first[:, columns])
    assert on_host(DeviceSparse(sp.csr_matrix((4, 90)), V.tensor.device) @ V).any() == 0


@pytest.mark.parametrize("longest", [1, 3, 90])
def test_long_rows_are_summed_in_parts(longest, monkeypatch):
    monkeypatch.setattr("lapwing.arrays.device_sparse._LONGEST", longest)
    M = sp.random(60, 90, 0.05, format="lil", random_state=1)
    M[3], M[40:44], M[-1] = 1.5, 0.0, 0.0  # a long row, and empty ones
    M, V = M.tocsr(), np.random.default_rng(2).standard_normal((90, 4))
    W = to_device(V)
    found = DeviceSparse(M, W.tensor.device) @ W
    np.testing.assert_allclose(on_host(found), M @ V, rtol=1e-12, atol=1e-13)
    assert sparse_bytes(60, M.nnz) >= 16 * M.nnz


@pytest.mark.parametrize("sparse", [False, True])
def test_products_with_rows_and_with_their_transpose(sparse):
    X = sp.random(60, 90, 0.1, format="csr", random_state=1)
    V, W = (np.random.default_rng(s).standard_normal((m, 3)) for s, m in ((0, 90), (1, 60)))
    there = Rows(X if sparse else to_device(X.toarray()))
    for _ in range(2):
        np.testing.assert_allclose(on_host(there @ to_device(V)), X @ V, rtol=0, atol=1e-13)
        found = on_host(there.transposed_times(to_device(W)))
        np.testing.assert_allclose(found, X.T @ W, rtol=0, atol=1e-13)


def test_matrices_are_kept_until_the_end_of_a_fit():
    class Owner:
        pass

    owner, V, M = Owner(), to_device(rows()), sp.eye_array(7).tocsr()
    with use_device(DEVICE):
        kept = sparse_on_device(owner, M, V)
        assert sparse_on_device(owner, M, V) is kept
        assert sparse_on_device(owner, M, V, transposed=True) is not kept
    assert sparse_on_device(owner, M, V) is not kept


def test_blocks_where_arrays_are():
    X = to_device(rows())
    assert block_entries(rows(), 10) == 10
    assert block_entries(X, 10) > 10
    for where in (X, rows()):
        assert map_where(where, lambda i: 2 * i, range(3)) == [0, 2, 4]


# ---------------------------------------------------------------- tensors

PLACE = None if DEVICE == "cpu" else "cuda"  # tensors of the host are arrays of the host


class Doubling:
    def __init__(self, place=PLACE):
        self.place = place

    @follows_tensors
    def double(self, X, *others, weights=None):
        assert isinstance(X, np.ndarray)
        name = active_device()
        assert (name and torch.device(name).type) == self.place
        arrays = (*others, *(weights or {}).values())
        assert not any(isinstance(one, torch.Tensor) for one in arrays)
        return 2 * X


@pytest.mark.parametrize("change", ["grad", "transposed", "negative", "half", "bfloat16", "int"])
def test_methods_that_follow_tensors(change):
    X = torch.arange(12.0, dtype=torch.float64, device=DEVICE).reshape(3, 4)
    X = {
        "grad": X.clone().requires_grad_(),
        "transposed": X.T,
        "negative": torch._neg_view(X),
        "half": X.half(),
        "bfloat16": X.bfloat16(),
        "int": X.int(),
    }[change]
    with use_device(None):
        assert isinstance(Doubling(None).double(np.ones(2)), np.ndarray)
        found = Doubling().double(X, torch.ones(3), weights={"a": torch.ones(2)})
        named = Doubling().double(weights=None, X=X)
        assert active_device() is None
    for one in (found, named):
        assert isinstance(one, torch.Tensor)
        assert one.device == X.device
        torch.testing.assert_close(one.double(), 2.0 * X.detach().double())


@pytest.mark.parametrize("X", [torch.eye(3).to_sparse(), torch.ones(3, device="meta")])
def test_tensors_without_dense_values_are_refused(X):
    with pytest.raises(TypeError, match=r"to_dense\(\)"):
        Doubling().double(X)


@pytest.fixture(params=["older", "newer"])
def user_precision(request):
    """Return what reads a setting of torch that the user has changed."""
    matmul = torch.backends.cuda.matmul
    if request.param == "older":
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("medium")
        yield torch.get_float32_matmul_precision
        torch.set_float32_matmul_precision(before)
    elif hasattr(matmul, "fp32_precision"):
        before, matmul.fp32_precision = matmul.fp32_precision, "tf32"
        yield lambda: matmul.fp32_precision
        matmul.fp32_precision = before
    else:
        pytest.skip("this version of torch has the older setting alone")


def test_settings_of_torch_are_left_as_they_are(user_precision):
    before = user_precision()
    X = to_device(A.astype(np.float32))
    np.testing.assert_allclose(on_host(X @ X.T), (A @ A.T), rtol=1e-5, atol=1e-5)
    assert user_precision() == before


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_products_of_two_threads_are_in_full_precision(user_precision, first_to_end):
    before = user_precision()
    products = [full_precision(torch) for _ in range(2)]
    for product in products:
        product.__enter__()
        assert user_precision() in ("highest", "ieee")
    products[first_to_end].__exit__(None, None, None)
    assert user_precision() in ("highest", "ieee")
    products[1 - first_to_end].__exit__(None, None, None)
    assert user_precision() == before


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_precision_does_not_follow_autocast(dtype):
    X = to_device(A.astype(np.float32))
    with torch.autocast(torch.device(DEVICE).type, dtype=dtype):
        found = X @ X.T
    assert found.dtype == np.float32
    np.testing.assert_allclose(on_host(found), A @ A.T, rtol=1e-5, atol=1e-5)
