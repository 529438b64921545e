//! The command line's types. Imports nothing of the crate, so that help, manual and completions come from here alone.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Finds MCP servers that their client left behind, proves that nobody uses them, and takes them down.
#[derive(Parser, Debug)]
#[command(name = "orphand", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Exit status: 0 done, 1 failed, 2 usage or configuration error, 3 some tree could not be reaped."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Read this configuration file too; it wins over the others
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Set one value, for example orphan.min_age=5m; may be given more than once
    #[arg(long, value_name = "KEY=VALUE", value_hint = clap::ValueHint::Other)]
    pub set: Vec<String>,
    /// How much to say on stderr; `json` (or `debug,json`) says it in JSON
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    pub log: Vec<Log>,
    /// When to use colour
    #[arg(long, value_name = "WHEN")]
    pub color: Option<Color>,
}

impl Cli {
    /// The options of every command, from before and after the verb together.
    ///
    /// clap's own global options would drop what stands before the verb when the same option stands behind it: of
    /// `--set mode=observe sweep --set reap.grace=20s` only the grace period would be left.
    pub fn global(&self) -> Global {
        match &self.command {
            Command::Config(options) => self.global.then(&options.global).then(self.command.global()),
            command => self.global.then(command.global()),
        }
    }
}

impl Global {
    /// These, then those: the later wins, assignments add up.
    fn then(&self, after: &Global) -> Global {
        Global {
            config: after.config.clone().or_else(|| self.config.clone()),
            set: self.set.iter().chain(&after.set).cloned().collect(),
            log: if after.log.is_empty() { self.log.clone() } else { after.log.clone() },
            color: after.color.or(self.color),
        }
    }
}

impl Config {
    fn global(&self) -> &Global {
        match self {
            Config::Show(global) | Config::Check(global) | Config::Default(global) => global,
        }
    }
}

impl Command {
    fn global(&self) -> &Global {
        match self {
            Command::Scan(options) => &options.global,
            Command::Explain(options) => &options.global,
            Command::Sweep(options) => &options.global,
            Command::Record(options) => &options.global,
            Command::Discover(options) => &options.global,
            Command::Run(options) => &options.global,
            Command::Status(options) => &options.global,
            Command::Install(options) => &options.global,
            Command::Uninstall(options) => &options.global,
            Command::Completions(options) => &options.global,
            Command::Man(options) => &options.global,
            Command::Config(options) => options.verb.global(),
        }
    }
}

/// How much to say, and how.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Log {
    /// Only what failed
    Error,
    /// And what is doubtful
    Warn,
    /// And what is done
    Info,
    /// And every signal
    Debug,
    /// Everything
    Trace,
    /// One JSON object a line
    Json,
}

/// When to use colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show every MCP server tree that nobody owns, with its verdict. Never signals
    Scan(Scan),
    /// Show everything known about one tree and every rule's answer, or what a command line would be
    Explain(Explain),
    /// Take down the trees that are proven to be orphans
    Sweep(Sweep),
    /// Stay, and take them down as they appear: the daemon
    ///
    /// Looks every minute (look.interval), and at once when a client ends. As root it looks after everybody's processes,
    /// otherwise after yours. It stays in the foreground. For a trial, `--set mode=observe` says what it would do and
    /// signals nothing.
    Run(Run),
    /// Show whether the daemon runs, what it has done, and what it cannot see
    Status(Status),
    /// Write a process table with all facts, secrets hidden, to attach to a report
    Record(Record),
    /// Show the MCP servers that your AI clients are configured to start, and learn their names
    ///
    /// Reads your clients' own configuration files (Claude Code, Codex, opencode, Cursor, VS Code and others) and derives from each
    /// server a pattern that names its process. Arguments and environments, where secrets are, go no further. Only files of
    /// your own are read, and by this command only: `run` and `sweep` never do.
    Discover(Discover),
    /// Show or check the configuration
    Config(ConfigArgs),
    /// Have the service manager keep orphand running, or sweep every five minutes
    ///
    /// Writes systemd units (on macOS a launchd job) that start this very program, enables and starts them, and says how to undo
    /// it. As root for the whole machine, otherwise for you. Run it again after an upgrade, or to change the options: those given here
    /// (--config, --set, --log) become the service's.
    Install(Install),
    /// Undo `install`: stop orphand and take its service away
    Uninstall(Uninstall),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    Man(Man),
}

/// `orphand scan`
#[derive(Args, Debug)]
pub struct Scan {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also show the trees that a live process owns
    #[arg(long)]
    pub all: bool,
    /// Judge a table that `orphand record` wrote, not this machine's
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand explain`
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Explain {
    /// A process of the tree
    #[arg(group = "what", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// A command line, as you would paste it from `ps`
    #[arg(long, value_name = "LINE", value_hint = clap::ValueHint::Other, group = "what", allow_hyphen_values = true)]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub command: Option<String>,
    /// Judge a table that `orphand record` wrote, not this machine's
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub replay: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand sweep`
#[derive(Args, Debug)]
pub struct Sweep {
    /// Look and judge, signal nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand run`
#[derive(Args, Debug)]
#[command(
    after_help = "Signals: SIGHUP reads the configuration again (from a terminal, it stops), SIGUSR1 looks now, \
                        SIGTERM and SIGINT stop when what has begun is finished, a second one at once."
)]
pub struct Run {
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand status`
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 it is running, or a timer sweeps; 1 neither, or it cannot be asked; 2 usage or configuration error."
)]
pub struct Status {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand record`
#[derive(Args, Debug)]
pub struct Record {
    /// Where to write it; standard output if not given
    pub file: Option<PathBuf>,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand discover`
#[derive(Args, Debug)]
pub struct Discover {
    /// Write what is new into conf.d/discovered.toml beside your configuration
    #[arg(long)]
    pub write: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// For whom `install` and `uninstall` are.
#[derive(Args, Clone, Copy, Debug)]
pub struct ForWhom {
    /// For your own processes
    #[arg(long, conflicts_with = "system")]
    pub user: bool,
    /// For everybody's processes on this machine
    #[arg(long)]
    pub system: bool,
}

/// `orphand install`
#[derive(Args, Debug)]
pub struct Install {
    /// For whom
    #[command(flatten)]
    pub for_whom: ForWhom,
    /// A sweep every five minutes instead of the daemon
    #[arg(long)]
    pub timer: bool,
    /// For a trial: it says what it would do, and signals nothing
    #[arg(long)]
    pub observe: bool,
    /// Only show the files and commands
    #[arg(long)]
    pub print: bool,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand uninstall`
#[derive(Args, Debug)]
pub struct Uninstall {
    /// For whom
    #[command(flatten)]
    pub for_whom: ForWhom,
    /// Take the configuration away too, and what orphand remembers
    #[arg(long)]
    pub purge: bool,
    /// Only show what would be done
    #[arg(long)]
    pub print: bool,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand completions`
#[derive(Args, Debug)]
pub struct Completions {
    /// Whose
    pub shell: clap_complete::Shell,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand man`
#[derive(Args, Debug)]
pub struct Man {
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
}

/// `orphand config`
#[derive(Args, Debug)]
pub struct ConfigArgs {
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
    /// What to do with it
    #[command(subcommand)]
    pub verb: Config,
}

/// The verbs of `orphand config`
#[derive(Subcommand, Debug)]
pub enum Config {
    /// Print every value in force and where it comes from
    Show(Global),
    /// Check the configuration and say what is wrong with it
    Check(Global),
    /// Print the commented default file
    Default(Global),
}
