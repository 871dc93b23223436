"""The test model server as a process: printed address, log, knobs, script."""

import json
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from skillopt_cli.testing import ScriptedResponse, run_model_server


def post(url, body, key="k", path="chat/completions", **headers):
    request = urllib.request.Request(
        f"{url}/{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", **(headers or {"Authorization": f"Bearer {key}"})},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def test_the_module_prints_its_address_serves_and_logs(tmp_path):
    log = tmp_path / "log.jsonl"
    argv = [sys.executable, "-m", "skillopt_cli.testing.model_server", "--log", str(log)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        status, answer = post(url, BODY, key="secret-1")
        with urllib.request.urlopen(f"{url}/models", timeout=60) as models:
            assert json.load(models)["data"]
    finally:
        process.terminate()
        process.communicate()

    assert status == 200
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "ok"}
    assert answer["usage"]["total_tokens"] == 3
    [entry] = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert entry["authorization"] == "Bearer secret-1"
    assert (entry["model"], entry["path"], entry["status"]) == ("m", "/v1/chat/completions", 200)
    assert len(entry["sha256"]) == 64
    assert "body" not in entry


@pytest.mark.parametrize(
    ("options", "status"),
    [({"auth_failure": True}, 401), ({"rate_limit_rate": 1.0}, 429)],
)
def test_the_simulated_faults_become_statuses(options, status):
    with run_model_server(**options) as server:
        assert post(server.url, BODY)[0] == status
        assert [entry["status"] for entry in server.requests()] == [status]


def test_scripted_steps_come_first_and_the_schema_names_the_contract():
    contract = {"type": "json_schema", "json_schema": {"name": "ranking", "schema": {}}}
    user = "Keep at most 1 edits.\n\n[0] append (support 1)\n[1] append (support 2)"
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": user}],
        "response_format": contract,
    }
    with run_model_server() as server:
        server.script(ScriptedResponse(418, {"error": {"message": "teapot"}}))
        assert post(server.url, body) == (418, {"error": {"message": "teapot"}})
        status, answer = post(server.url, body)
        assert server.bodies() == [body, body]
    assert status == 200
    assert json.loads(answer["choices"][0]["message"]["content"])["selected_indices"] == [1]


def test_a_reset_server_is_as_it_started():
    with run_model_server(rate_limit_rate=0.5) as server:
        first = [post(server.url, BODY)[0] for _ in range(8)]
        server.script(ScriptedResponse(418))
        server.reset()
        assert server.requests() == []
        assert [post(server.url, BODY)[0] for _ in range(8)] == first
        assert {200, 429} == set(first)
        assert [entry["status"] for entry in server.requests()] == first


def test_a_server_that_cannot_start_says_so(tmp_path):
    with pytest.raises(RuntimeError, match="ended with code"), run_model_server(tmp_path):
        pass


def test_a_key_and_a_model_can_be_asked_for():
    with run_model_server(key="right", model="m") as server:
        assert post(server.url, BODY, key="right")[0] == 200
        status, refusal = post(server.url, BODY, key="wrong")
        assert (status, refusal["error"]["type"]) == (401, "AuthFailed")
        status, refusal = post(server.url, BODY | {"model": "other"}, key="right")
        assert (status, refusal["error"]["type"]) == (404, "UnknownModel")
        assert [entry["status"] for entry in server.requests()] == [200, 401, 404]
        with urllib.request.urlopen(f"{server.url}/models", timeout=60) as models:
            assert [entry["id"] for entry in json.load(models)["data"]] == ["m"]


RANKED = "Keep at most 1 edits.\n\n[0] append (support 1)\n[1] append (support 2)"
PARTS = [{"type": "input_text", "text": RANKED}]
FORMS = {
    "chat/completions": (
        {
            "messages": [{"role": "user", "content": PARTS}],
            "response_format": {"json_schema": {"name": "ranking", "schema": {}}},
        },
        lambda answer: answer["choices"][0]["message"]["content"],
    ),
    "responses": (
        {
            "instructions": "Rank.",
            "input": [{"role": "user", "content": PARTS}],
            "text": {"format": {"type": "json_schema", "name": "ranking", "schema": {}}},
        },
        lambda answer: answer["output"][0]["content"][0]["text"],
    ),
    "messages": (
        {
            "system": [{"type": "text", "text": "Rank."}],
            "messages": [{"role": "user", "content": PARTS}],
            "output_config": {"format": {"type": "json_schema", "schema": {"title": "ranking"}}},
        },
        lambda answer: answer["content"][0]["text"],
    ),
}


@pytest.fixture(scope="module")
def server():
    with run_model_server() as running:
        yield running


@pytest.mark.parametrize("path", FORMS)
def test_every_form_gives_the_same_answer_and_its_tokens_to_the_log(server, path):
    body, text_of = FORMS[path]
    status, answer = post(server.url, {"model": "m", **body}, path=path)
    assert status == 200
    assert json.loads(text_of(answer))["selected_indices"] == [1]
    entry = server.requests()[-1]
    assert entry["path"] == f"/v1/{path}"
    counted = list(answer["usage"].values())[:2]
    assert [entry["prompt_tokens"], entry["completion_tokens"]] == counted
    assert all(counted)


def test_a_short_response_may_be_asked_for_with_a_plain_text(server):
    status, answer = post(server.url, {"model": "m", "input": "hello"}, path="responses")
    assert (status, answer["output"][0]["content"][0]["text"]) == (200, "ok")


def test_the_log_counts_what_a_scripted_answer_claims(server):
    spent = {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 5}
    server.script(
        ScriptedResponse(200, {"content": [], "usage": spent}),
        ScriptedResponse(500, {"error": {"message": "no"}}),
    )
    for _ in range(2):
        post(server.url, {"model": "m", "messages": []}, path="messages")
    counts = [(e["prompt_tokens"], e["completion_tokens"]) for e in server.requests()[-2:]]
    assert counts == [(43, 5), (None, None)]


def test_anthropics_form_takes_a_key_in_either_header_and_words_its_errors():
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    with run_model_server(key="right", model="m") as server:
        assert post(server.url, body, key="right", path="messages")[0] == 200
        assert post(server.url, body, path="messages", **{"X-Api-Key": "right"})[0] == 200
        status, refusal = post(server.url, body, key="wrong", path="messages")
        assert (status, refusal["error"]["type"]) == (401, "authentication_error")
        status, refusal = post(server.url, body | {"model": "n"}, key="right", path="messages")
        assert (status, refusal["error"]["type"]) == (404, "not_found_error")
