//! Which wrappers there are, and which of their options take the next word.

/// A program that puts something in front of a command: `timeout 60 CMD`, `sudo -u x CMD`, `op run -- CMD`.
pub(super) struct Prefix {
    pub(super) name: &'static str,
    /// Words between the name and its options, one of several (`exec` in `direnv exec`).
    pub(super) verbs: &'static [&'static str],
    /// Options that take the next word.
    pub(super) values: &'static [&'static str],
    /// Positional words before the command (the duration of `timeout`).
    pub(super) positionals: usize,
}

const fn prefix(
    name: &'static str,
    verbs: &'static [&'static str],
    values: &'static [&'static str],
    positionals: usize,
) -> Prefix {
    Prefix { name, verbs, values, positionals }
}

pub(super) const PREFIXES: [Prefix; 37] = [
    prefix("env", &[], &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"], 0),
    prefix(
        "sudo",
        &[],
        &[
            "-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "--user", "--group", "--prompt",
            "--host", "--chdir", "--role", "--type",
        ],
        0,
    ),
    prefix("doas", &[], &["-u", "-C"], 0),
    prefix("runuser", &[], &["-u", "-g", "-G"], 0),
    prefix("setpriv", &[], &[], 0),
    prefix("nice", &[], &["-n", "--adjustment"], 0),
    prefix("ionice", &[], &["-c", "-n", "-p"], 0),
    prefix("chrt", &[], &[], 1),
    prefix("taskset", &[], &["-c"], 1),
    prefix("timeout", &[], &["-s", "-k", "--signal", "--kill-after"], 1),
    prefix("stdbuf", &[], &["-i", "-o", "-e"], 0),
    prefix("unbuffer", &[], &[], 0),
    prefix("nohup", &[], &[], 0),
    prefix("setsid", &[], &[], 0),
    prefix("catchsegv", &[], &[], 0),
    prefix("time", &[], &["-f", "-o"], 0),
    prefix("caffeinate", &[], &["-t", "-w"], 0),
    prefix("arch", &[], &["-arch"], 0),
    prefix("dotenv", &[], &["-e", "-f", "-c", "-v", "-p"], 0),
    prefix("dotenvx", &["run"], &["-f", "--env-file", "-e", "--env", "--private-key", "-fk", "-k"], 0),
    prefix("direnv", &["exec"], &[], 1),
    prefix("mise", &["exec", "x"], &[], 0),
    prefix("rtx", &["exec", "x"], &[], 0),
    prefix("asdf", &["exec"], &[], 0),
    prefix("nvm", &["exec"], &[], 0),
    prefix("pyenv", &["exec"], &[], 0),
    prefix("rbenv", &["exec"], &[], 0),
    prefix("nodenv", &["exec"], &[], 0),
    prefix("bundle", &["exec"], &[], 0),
    prefix("pipenv", &["run"], &[], 0),
    prefix("volta", &["run"], &["--node", "--npm", "--yarn"], 0),
    prefix("fnm", &["exec"], &["--using"], 0),
    prefix("op", &["run"], &["--env-file", "--account", "--session", "--config"], 0),
    prefix("doppler", &["run"], &["-p", "-c", "--project", "--config", "-t", "--token"], 0),
    prefix(
        "infisical",
        &["run"],
        &["-e", "--env", "--path", "--projectId", "--token", "--domain", "--tags"],
        0,
    ),
    prefix("xvfb-run", &[], &["-n", "-s", "-e", "-f", "-p", "-w", "--server-num", "--server-args"], 0),
    prefix("disclaimer", &[], &[], 0),
];

/// A program that fetches a package, or finds one in the project, and runs it.
pub(super) struct Runner {
    pub(super) name: &'static str,
    /// Words that make it a runner (`exec`, `tool run`); the longest that fits is taken, an empty one fits always.
    pub(super) verbs: &'static [&'static str],
    /// Options that take the next word.
    pub(super) values: &'static [&'static str],
    /// Options whose value names the package, when the command after it is only one of its programs.
    pub(super) package: &'static [&'static str],
    /// What it runs: a package by name, or whatever command follows.
    pub(super) runs: Runs,
}

#[derive(PartialEq)]
pub(super) enum Runs {
    Package,
    Command,
}

const NPM_VALUES: &[&str] = &[
    "-w",
    "--workspace",
    "--prefix",
    "--registry",
    "--cache",
    "--userconfig",
    "--globalconfig",
    "--loglevel",
    "--otp",
    "--script-shell",
    "--node-options",
    "--tag",
    "--before",
    "--https-proxy",
    "--proxy",
    "--cafile",
];
const PNPM_VALUES: &[&str] =
    &["--dir", "-C", "--reporter", "--registry", "--filter", "-F", "--loglevel", "--config-dir"];
const BUN_VALUES: &[&str] =
    &["--cwd", "--config", "--registry", "--cache-dir", "--define", "--env-file", "--tsconfig-override"];
const PIPX_VALUES: &[&str] = &["--python", "--pip-args", "--index-url", "-i", "--backend", "--path"];
/// docs.astral.sh/uv/reference/cli
const UV_VALUES: &[&str] = &[
    "--with",
    "--with-editable",
    "--with-requirements",
    "-w",
    "--python",
    "-p",
    "--index",
    "--index-url",
    "-i",
    "--default-index",
    "--extra-index-url",
    "--directory",
    "--project",
    "--env-file",
    "--cache-dir",
    "--group",
    "--no-group",
    "--only-group",
    "--extra",
    "--no-extra",
    "--package",
    "--refresh-package",
    "--reinstall-package",
    "--upgrade-package",
    "-P",
    "--config-file",
    "--constraints",
    "-c",
    "--build-constraints",
    "-b",
    "--overrides",
    "--excludes",
    "--link-mode",
    "--color",
    "--keyring-provider",
    "--allow-insecure-host",
    "--find-links",
    "-f",
    "--prerelease",
    "--resolution",
    "--fork-strategy",
    "--python-preference",
    "--python-platform",
    "--index-strategy",
    "--exclude-newer",
    "--exclude-newer-package",
    "--torch-backend",
    "--no-binary-package",
    "--no-build-package",
    "--no-build-isolation-package",
    "--config-setting",
    "--config-settings-package",
    "--with-executables-from",
];

const CONDA_VALUES: &[&str] = &["-n", "--name", "-p", "--prefix", "--cwd"];

pub(super) const RUNNERS: [Runner; 20] = [
    Runner {
        name: "npm",
        verbs: &["exec", "x"],
        values: NPM_VALUES,
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner {
        name: "npx",
        verbs: &[""],
        values: NPM_VALUES,
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner {
        name: "pnpm",
        verbs: &["dlx", "exec"],
        values: PNPM_VALUES,
        package: &["--package"],
        runs: Runs::Package,
    },
    Runner { name: "pnpx", verbs: &[""], values: PNPM_VALUES, package: &["--package"], runs: Runs::Package },
    Runner {
        name: "yarn",
        verbs: &["dlx", "exec"],
        values: &["--cwd"],
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner {
        name: "bunx",
        verbs: &[""],
        values: BUN_VALUES,
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner {
        name: "bun",
        verbs: &["x"],
        values: BUN_VALUES,
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner { name: "uvx", verbs: &[""], values: UV_VALUES, package: &["--from"], runs: Runs::Package },
    Runner {
        name: "uv",
        verbs: &["tool uvx", "tool run", "x"],
        values: UV_VALUES,
        package: &["--from"],
        runs: Runs::Package,
    },
    Runner { name: "uv", verbs: &["run"], values: UV_VALUES, package: &[], runs: Runs::Command },
    Runner { name: "pipx", verbs: &["run"], values: PIPX_VALUES, package: &["--spec"], runs: Runs::Package },
    Runner {
        name: "poetry",
        verbs: &["run"],
        values: &["-C", "--directory", "-P"],
        package: &[],
        runs: Runs::Command,
    },
    Runner { name: "pdm", verbs: &["run"], values: &["-p", "--project"], package: &[], runs: Runs::Command },
    Runner { name: "hatch", verbs: &["run"], values: &[], package: &[], runs: Runs::Command },
    Runner { name: "rye", verbs: &["run"], values: &[], package: &[], runs: Runs::Command },
    Runner {
        name: "pixi",
        verbs: &["run"],
        values: &["--manifest-path", "-e"],
        package: &[],
        runs: Runs::Command,
    },
    Runner { name: "conda", verbs: &["run"], values: CONDA_VALUES, package: &[], runs: Runs::Command },
    Runner { name: "mamba", verbs: &["run"], values: CONDA_VALUES, package: &[], runs: Runs::Command },
    Runner { name: "micromamba", verbs: &["run"], values: CONDA_VALUES, package: &[], runs: Runs::Command },
    Runner {
        name: "dnx",
        verbs: &[""],
        values: &["--version", "--source", "--add-source", "--configfile", "--verbosity", "-v"],
        package: &[],
        runs: Runs::Package,
    },
];
