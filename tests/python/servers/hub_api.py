"""The routes of the fake Hub: revisions, trees, files, uploads and commits."""

from __future__ import annotations

import json
import re
import urllib.parse
from typing import TYPE_CHECKING

from servers.hub_repository import Repository, is_lfs
from servers.web import Reply, Request, parse_range

if TYPE_CHECKING:
    from servers.hub_fake import HubFake

PAGE = 1000
_API = re.compile(r"/api/(datasets|models)/([^/]+/[^/]+)(?:/(.*))?")
_LFS = re.compile(r"/(?:(datasets)/)?([^/]+/[^/]+)\.git/info/lfs/objects/(\w+)")
_RESOLVE = re.compile(r"/(?:(datasets)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_CACHED = re.compile(r"/api/resolve-cache/(datasets|models)/([^/]+/[^/]+)/([^/]+)/(.+)")
_DATE = "2026-01-02T03:04:05.000Z"


def failed(status: int, code: str, message: str) -> Reply:
    headers = {"X-Error-Message": message, "Content-Type": "application/json"}
    if code:
        headers["X-Error-Code"] = code
    return Reply(status, headers, json.dumps({"error": message}).encode())


def as_json(value: object, headers: dict[str, str] | None = None) -> Reply:
    all_headers = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
    return Reply(200, all_headers, json.dumps(value).encode())


def _token(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


class HubApi:
    def __init__(self, hub: HubFake):
        self._hub = hub

    def answer(self, request: Request) -> Reply:
        path = request.path
        if match := _CACHED.fullmatch(path):
            return self._with(request, match[1], match[2], self._cached, match[3], match[4])
        if path == "/api/whoami-v2":
            return as_json({"type": "user", "name": "tester", "orgs": []})
        if path == "/api/validate-yaml":
            return as_json({"errors": [], "warnings": []})
        if path == "/api/repos/create":
            return self._create(request)
        if match := _LFS.fullmatch(path):
            kind = match[1] or "models"
            return self._with(request, kind, match[2], self._lfs, match[3])
        if match := _RESOLVE.fullmatch(path):
            kind = match[1] or "models"
            return self._with(request, kind, match[2], self._resolve, match[3], match[4])
        if match := _API.fullmatch(path):
            return self._with(request, match[1], match[2], self._repository_api, match[3] or "")
        return failed(404, "", "Sorry, we can't find the page you are looking for.")

    def _with(self, request, kind, name, route, *arguments) -> Reply:  # type: ignore[no-untyped-def]
        """The route's answer, if the repository is there and may be seen."""
        repository = self._hub.repositories.get((kind, urllib.parse.unquote(name)))
        token = _token(request)
        hidden = repository and repository.token and token != repository.token
        if repository is None or (hidden and not repository.gated):
            if token:
                return failed(404, "RepoNotFound", "Repository not found")
            return failed(401, "RepoNotFound", "Invalid username or password.")
        if hidden and route is not self._repository_api:
            message = f"Access to dataset {repository.id} is restricted. You must have access to it"
            return failed(403 if token else 401, "GatedRepo", message)
        return route(request, repository, token, *map(urllib.parse.unquote, arguments))

    def _repository_api(
        self, request: Request, repository: Repository, token: str, rest: str
    ) -> Reply:
        action, _, tail = rest.partition("/")
        if action == "refs":
            branches = [
                {"name": name, "ref": f"refs/heads/{name}", "targetCommit": sha}
                for name, sha in repository.refs.items()
            ]
            return as_json({"branches": branches, "converts": [], "tags": []})
        # Revisions are sent with their slashes encoded; the route has been decoded already.
        encoded = request.path.split(f"/{action}/", 1)[1] if tail else "main"
        revision, _, folder = (urllib.parse.unquote(part) for part in encoded.partition("/"))
        commit = repository.resolve(revision)
        if commit is None:
            return failed(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if action in ("", "revision"):
            return self._info(repository, commit)
        if action == "tree":
            return self._tree(request, repository, commit, folder)
        if action == "paths-info":
            return self._paths_info(request, repository, commit)
        if token not in self._hub.writers:
            return failed(403, "", "Authorization error: you don't have the rights to write")
        if action == "preupload":
            return self._preupload(request, repository, commit)
        if action == "commit":
            return self._commit(request, repository, revision)
        return failed(404, "", f"no route {rest}")

    def _info(self, repository: Repository, commit: str) -> Reply:
        siblings = [{"rfilename": path} for path in sorted(repository.commits[commit])]
        return as_json(
            {
                "_id": "0" * 24,
                "id": repository.id,
                "sha": commit,
                "author": repository.id.split("/")[0],
                "private": bool(repository.token) and not repository.gated,
                "gated": "auto" if repository.gated else False,
                "disabled": False,
                "downloads": 0,
                "likes": 0,
                "tags": [],
                "createdAt": _DATE,
                "lastModified": _DATE,
                "siblings": siblings,
            }
        )

    def _tree(self, request: Request, repository: Repository, commit: str, folder: str) -> Reply:
        recursive = request.query.get("recursive", "").lower() in ("true", "1")
        expand = request.query.get("expand", "").lower() in ("true", "1")
        entries = repository.tree(commit, folder, recursive)
        if folder and not entries:
            return failed(404, "EntryNotFound", f"{folder} does not exist on {commit}")
        size = 50 if expand else PAGE
        begin = int(request.query.get("cursor", 0))
        headers = {}
        if begin + size < len(entries):
            query = urllib.parse.urlencode(request.query | {"cursor": begin + size})
            headers["Link"] = f'<{self._hub.endpoint}{request.path}?{query}>; rel="next"'
        return as_json(entries[begin : begin + size], headers)

    def _paths_info(self, request: Request, repository: Repository, commit: str) -> Reply:
        form = urllib.parse.parse_qs(request.body.decode())
        wanted = set(form.get("paths", []))
        entries = repository.tree(commit, "", recursive=True)
        return as_json([entry for entry in entries if entry["path"] in wanted])

    def _resolve(
        self, request: Request, repository: Repository, token: str, revision: str, path: str
    ) -> Reply:
        commit = repository.resolve(revision)
        if commit is None:
            return failed(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        headers = {"X-Repo-Commit": commit}
        file = repository.commits[commit].get(path)
        if file is None:
            reply = failed(404, "EntryNotFound", f"{path} does not exist on {revision}")
            reply.headers |= headers
            return reply
        headers |= {"X-Linked-Size": str(file.content.size)}
        headers |= {"X-Linked-Etag": f'"{file.sha256 or file.oid}"'}
        if file.sha256:
            headers["Location"] = self._hub.signed_url(f"/repos/{file.sha256}", "read")
            return Reply(302, headers, b"Found. Redirecting")
        quoted = urllib.parse.quote(path)
        place = f"/api/resolve-cache/{repository.kind}/{repository.id}/{commit}/{quoted}"
        return Reply(307, headers | {"Location": place}, b"Temporary Redirect")

    def _cached(
        self, request: Request, repository: Repository, token: str, commit: str, path: str
    ) -> Reply:
        file = repository.commits[commit][path]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{file.oid}"', "Accept-Ranges": "bytes"}
        span = parse_range(request.headers.get("range", ""), file.content.size)
        if span is None:
            return Reply(200, headers, file.content.part(0, file.content.size))
        headers["Content-Range"] = f"bytes {span[0]}-{span[1] - 1}/{file.content.size}"
        return Reply(206, headers, file.content.part(*span))

    def _create(self, request: Request) -> Reply:
        if (
            request.headers.get("authorization", "").removeprefix("Bearer ")
            not in self._hub.writers
        ):
            return failed(401, "", "Invalid username or password.")
        wanted = json.loads(request.body)
        kind = wanted.get("type", "model") + "s"
        name = f"{wanted.get('organization') or 'tester'}/{wanted['name']}"
        url = f"{self._hub.endpoint}/{kind + '/' if kind == 'datasets' else ''}{name}"
        if (kind, name) in self._hub.repositories:
            reply = failed(409, "", "You already created this repo")
            reply.body = json.dumps({"error": "You already created this repo", "url": url}).encode()
            return reply
        self._hub.add(kind, name, {".gitattributes": b"*.tar filter=lfs\n"})
        return as_json({"url": url, "name": name, "id": "0" * 24})

    def _preupload(self, request: Request, repository: Repository, commit: str) -> Reply:
        wanted = json.loads(request.body)["files"]
        if len(wanted) > 256:
            return failed(400, "", "at most 256 files a request")
        out = []
        for file in wanted:
            there = repository.commits[commit].get(file["path"])
            row = {
                "path": file["path"],
                "uploadMode": "lfs" if is_lfs(file["path"], file["size"]) else "regular",
                "shouldIgnore": False,
            }
            if there:
                row["oid"] = there.sha256 or there.oid
            out.append(row)
        return as_json({"files": out})

    def _lfs(self, request: Request, repository: Repository, token: str, action: str) -> Reply:
        if token not in self._hub.writers:
            return failed(403, "", "you don't have the rights to write")
        wanted = json.loads(request.body)
        if action == "batch":
            objects = [self._upload_of(repository, each) for each in wanted["objects"]]
            headers = {"Content-Type": "application/vnd.git-lfs+json"}
            return as_json({"transfer": "basic", "objects": objects}, headers)
        there = self._hub.large.get(wanted["oid"])
        if there is None or there.size != wanted["size"]:
            return failed(404, "", "the object was not uploaded")
        return as_json({})

    def _upload_of(self, repository: Repository, wanted: dict[str, object]) -> dict[str, object]:
        oid, size = str(wanted["oid"]), int(str(wanted["size"]))
        out: dict[str, object] = {"oid": oid, "size": size}
        if oid in self._hub.large:
            return out  # nothing to do: it is there
        prefix = "datasets/" if repository.kind == "datasets" else ""
        base = f"{self._hub.endpoint}/{prefix}{repository.id}.git/info/lfs/objects"
        upload: dict[str, object] = {"href": self._hub.signed_url(f"/repos/{oid}", "write")}
        part = self._hub.part_size
        if part and size > part:
            parts = range(1, -(-size // part) + 1)
            urls = {str(i): self._hub.signed_url(f"/repos/{oid}/{i}", "write") for i in parts}
            href = self._hub.signed_url(f"/repos/{oid}", "complete")
            upload = {"href": href, "header": {"chunk_size": str(part), **urls}}
        out["actions"] = {"upload": upload, "verify": {"href": f"{base}/verify"}}
        return out

    def _commit(self, request: Request, repository: Repository, branch: str) -> Reply:
        if request.headers.get("content-type") != "application/x-ndjson":
            return failed(400, "", "a commit is application/x-ndjson")
        try:
            lines = request.body.split(b"\n")
            sha = repository.apply(lines, self._hub.large, branch)
        except LookupError as problem:
            return failed(412, "", str(problem))
        except ValueError as problem:
            return failed(400, "", str(problem))
        prefix = "datasets/" if repository.kind == "datasets" else ""
        url = f"{self._hub.endpoint}/{prefix}{repository.id}/commit/{sha}"
        return as_json({"success": True, "commitOid": sha, "commitUrl": url, "hookOutput": ""})
