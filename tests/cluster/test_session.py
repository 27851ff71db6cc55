from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import sidrec
from sidrec.cluster import session
from sidrec.core.errors import SidrecError


def test_without_ray_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    with pytest.raises(SidrecError, match=r"pip install 'sidrec\[ray\]'"), session.ray_session():
        raise AssertionError("never reached")


def test_only_ray_is_a_place_and_only_it_has_an_address():
    assert session.wants_ray("ray", "auto") and not session.wants_ray(None)
    with pytest.raises(SidrecError, match="spark: is no place"):
        session.wants_ray("spark")
    with pytest.raises(SidrecError, match="an address is that of a Ray cluster"):
        session.wants_ray(None, "auto")


def test_workers_find_the_sidrec_of_this_process():
    paths = session.worker_environment(OMP_NUM_THREADS="1")["env_vars"]
    assert paths["OMP_NUM_THREADS"] == "1"
    assert paths["PYTHONPATH"].split(":")[0] == str(Path(sidrec.__file__).parents[1])


@pytest.mark.slow
def test_nothing_imports_ray_unasked():
    script = (
        "import sys, sidrec.cli.app, sidrec.cluster, sidrec.cluster.session, sidrec.verbs, "
        "sidrec.pipeline.benchmark.runner; assert not {'ray', 'optuna'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.slow
def test_a_session_runs_this_sidrec_keeps_our_signals_and_ends():
    before = signal.getsignal(signal.SIGTERM)
    with session.ray_session(num_cpus=1) as ray:
        with session.ray_session() as inner:
            assert inner is ray

        @ray.remote
        def where() -> str:
            import sidrec

            return sidrec.__file__

        assert ray.get(where.remote()) == sidrec.__file__
        assert signal.getsignal(signal.SIGTERM) is before
        assert ray.is_initialized()
    assert not ray.is_initialized()


@pytest.mark.slow
def test_no_cluster_at_the_address_is_one_sentence(monkeypatch):
    """Said by Ray itself; others may run one on this machine, so it is not asked."""

    def nowhere(**_):
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr(session.import_ray(), "init", nowhere)
    with pytest.raises(SidrecError, match="no Ray cluster at auto"), session.ray_session("auto"):
        raise AssertionError("never reached")


def test_an_address_where_nobody_answers_is_one_sentence_at_once():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody else can have it meanwhile, and nobody listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SidrecError, match="nobody answers there"), session.ray_session(address):
            raise AssertionError("never reached")
