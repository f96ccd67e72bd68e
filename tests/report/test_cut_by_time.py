"""The report says whether the same input gives the same release."""

import pyarrow as pa
import pytest

import kohort as ko
from kohort.report.facts import report_facts
from kohort.report.sections import _CUT, _SAME, reproduce_section

TABLE = pa.table({"a": [str(i % 7) for i in range(60)], "b": [str(i % 5) for i in range(60)]})


@pytest.mark.parametrize(("time_limit", "sentence"), [(1e-9, _CUT), (None, _SAME)])
def test_the_report_promises_the_same_bytes_only_where_no_limit_cut_the_search(time_limit, sentence):
    release = ko.anonymize(
        TABLE,
        quasi_identifiers=dict.fromkeys("ab", ko.flat()),
        privacy=[ko.KAnonymity(3)],
        algorithm="mondrian",
        time_limit=time_limit,
    )
    facts = report_facts(release)
    assert reproduce_section(facts).sentences == [sentence]
    assert facts["cut_by_time"] is (time_limit is not None)
    assert report_facts(release, version="public")["cut_by_time"] is None
