import pytest
import yaml
from pyarrow import csv

from comparison.cases import SPEC, people
from kohort.comparison import compare
from kohort.comparison.worker import run_job


@pytest.fixture
def jobs(monkeypatch):
    """Runs jobs in this process, which is faster, and lists them."""
    done = []

    def run(job, time_limit, tell):
        done.append(job)
        tell(0.5)
        return run_job(job) | {"compiling": 0.0}

    monkeypatch.setattr(compare, "_run", run)
    return done


@pytest.fixture
def files(tmp_path):
    """A folder with people.csv and spec.yaml."""
    csv.write_csv(people(), tmp_path / "people.csv")
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(SPEC))
    return tmp_path
