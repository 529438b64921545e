//! `docker`, `podman`, `nerdctl`: what runs in a container.

use super::options::skip;
use super::title;
use crate::invocation::{Invocation, Kind, resolve};

/// Options of `docker run` and `docker exec` that take the next word (docker/cli, docs/reference/commandline/run.md).
const VALUES: &[&str] = &[
    "--add-host",
    "-a",
    "--attach",
    "--annotation",
    "--blkio-weight",
    "--blkio-weight-device",
    "--cap-add",
    "--cap-drop",
    "--cgroup-parent",
    "--cgroupns",
    "--cidfile",
    "--cpu-period",
    "--cpu-quota",
    "--cpu-rt-period",
    "--cpu-rt-runtime",
    "-c",
    "--cpu-shares",
    "--cpus",
    "--cpuset-cpus",
    "--cpuset-mems",
    "--detach-keys",
    "--device",
    "--device-cgroup-rule",
    "--device-read-bps",
    "--device-read-iops",
    "--device-write-bps",
    "--device-write-iops",
    "--dns",
    "--dns-option",
    "--dns-search",
    "--domainname",
    "--entrypoint",
    "-e",
    "--env",
    "--env-file",
    "--expose",
    "--gpus",
    "--group-add",
    "--health-cmd",
    "--health-interval",
    "--health-retries",
    "--health-start-period",
    "--health-timeout",
    "-h",
    "--hostname",
    "--ip",
    "--ip6",
    "--ipc",
    "--isolation",
    "-l",
    "--label",
    "--label-file",
    "--link",
    "--link-local-ip",
    "--log-driver",
    "--log-opt",
    "--mac-address",
    "-m",
    "--memory",
    "--memory-reservation",
    "--memory-swap",
    "--memory-swappiness",
    "--mount",
    "--name",
    "--network",
    "--net",
    "--network-alias",
    "--oom-score-adj",
    "--pid",
    "--pids-limit",
    "--platform",
    "-p",
    "--publish",
    "--pull",
    "--restart",
    "--runtime",
    "--security-opt",
    "--shm-size",
    "--stop-signal",
    "--stop-timeout",
    "--storage-opt",
    "--sysctl",
    "--tmpfs",
    "--ulimit",
    "-u",
    "--user",
    "--userns",
    "--uts",
    "-v",
    "--volume",
    "--volume-driver",
    "--volumes-from",
    "-w",
    "--workdir",
];

/// `docker run -i IMAGE args`, `docker exec -i CONTAINER cmd`. Other verbs start nothing that could be a server.
pub(super) fn container(name: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    // `docker --context x run`, `docker container run`, `docker compose -f x exec -T SERVICE cmd`
    let (mut at, _) = skip(
        rest,
        &["-c", "--context", "--config", "-H", "--host", "-l", "--log-level", "--url", "--connection"],
    );
    let group = rest.get(at).map_or("", String::as_str);
    let is_compose = group == "compose";
    if is_compose || group == "container" {
        let files =
            ["-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory"];
        at += 1 + skip(rest.get(at + 1..)?, &files).0;
    }
    let verb = rest.get(at)?.as_str();
    if !(verb == "exec" || verb == "run" && !is_compose) {
        return None;
    }
    at += 1;
    let (skipped, doubtful) = skip(rest.get(at..)?, VALUES);
    let (first, arguments) = rest.get(at + skipped..)?.split_first()?;
    let found = if verb == "run" {
        Invocation::new(Kind::Image, image_name(first), arguments)
    } else {
        resolve(arguments, depth + 1)?
    };
    Some(found.doubted(doubtful).seen_through(&title(name, verb)))
}

/// An image without its tag and digest, and without the registry that goes without saying. A colon before the last slash
/// belongs to the registry's port.
fn image_name(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    let name = match image.rfind(':') {
        Some(colon) if !image[colon..].contains('/') => &image[..colon],
        _ => image,
    };
    let name = name.strip_prefix("docker.io/").or(name.strip_prefix("index.docker.io/")).unwrap_or(name);
    name.strip_prefix("library/").unwrap_or(name)
}
