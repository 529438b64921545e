# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_orphand_global_optspecs
    string join \n config= set= log= color= h/help V/version
end

function __fish_orphand_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_orphand_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_orphand_using_subcommand
    set -l cmd (__fish_orphand_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c orphand -n "__fish_orphand_needs_command" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_needs_command" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_needs_command" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_needs_command" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_needs_command" -s V -l version -d 'Print version'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "scan" -d 'Show every MCP server tree that nobody owns, with its verdict. Never signals'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "explain" -d 'Show everything known about one tree and every rule\'s answer, or what a command line would be'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "sweep" -d 'Take down the trees that are proven to be orphans'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "run" -d 'Stay, and take them down as they appear: the daemon'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "status" -d 'Show whether the daemon runs, what it has done, and what it cannot see'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "record" -d 'Write a process table with all facts, secrets hidden, to attach to a report'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "discover" -d 'Show the MCP servers that your AI clients are configured to start, and learn their names'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "config" -d 'Show or check the configuration'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "install" -d 'Have the service manager keep orphand running, or sweep every five minutes'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "uninstall" -d 'Undo `install`: stop orphand and take its service away'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c orphand -n "__fish_orphand_needs_command" -f -a "man" -d 'Print the manual page'
complete -c orphand -n "__fish_orphand_using_subcommand scan" -l replay -d 'Judge a table that `orphand record` wrote, not this machine\'s' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand scan" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand scan" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand scan" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand scan" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand scan" -l json -d 'Print JSON'
complete -c orphand -n "__fish_orphand_using_subcommand scan" -l all -d 'Also show the trees that a live process owns'
complete -c orphand -n "__fish_orphand_using_subcommand scan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand explain" -l command -d 'A command line, as you would paste it from `ps`' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand explain" -l replay -d 'Judge a table that `orphand record` wrote, not this machine\'s' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand explain" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand explain" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand explain" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand explain" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand explain" -l json -d 'Print JSON'
complete -c orphand -n "__fish_orphand_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand sweep" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand sweep" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand sweep" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand sweep" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand sweep" -l dry-run -d 'Look and judge, signal nothing'
complete -c orphand -n "__fish_orphand_using_subcommand sweep" -l json -d 'Print JSON'
complete -c orphand -n "__fish_orphand_using_subcommand sweep" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand run" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand run" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand run" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand run" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand status" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand status" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand status" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand status" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand status" -l json -d 'Print JSON'
complete -c orphand -n "__fish_orphand_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand record" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand record" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand record" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand record" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand discover" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand discover" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand discover" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand discover" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand discover" -l write -d 'Write what is new into conf.d/discovered.toml beside your configuration'
complete -c orphand -n "__fish_orphand_using_subcommand discover" -l json -d 'Print JSON'
complete -c orphand -n "__fish_orphand_using_subcommand discover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand config; and not __fish_seen_subcommand_from show check default" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand config; and not __fish_seen_subcommand_from show check default" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand config; and not __fish_seen_subcommand_from show check default" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand config; and not __fish_seen_subcommand_from show check default" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand config; and not __fish_seen_subcommand_from show check default" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand config; and not __fish_seen_subcommand_from show check default" -f -a "show" -d 'Print every value in force and where it comes from'
complete -c orphand -n "__fish_orphand_using_subcommand config; and not __fish_seen_subcommand_from show check default" -f -a "check" -d 'Check the configuration and say what is wrong with it'
complete -c orphand -n "__fish_orphand_using_subcommand config; and not __fish_seen_subcommand_from show check default" -f -a "default" -d 'Print the commented default file'
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from show" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from show" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from show" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from check" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from check" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from check" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from check" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from default" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from default" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from default" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from default" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand config; and __fish_seen_subcommand_from default" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand install" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand install" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand install" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand install" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand install" -l user -d 'For your own processes'
complete -c orphand -n "__fish_orphand_using_subcommand install" -l system -d 'For everybody\'s processes on this machine'
complete -c orphand -n "__fish_orphand_using_subcommand install" -l timer -d 'A sweep every five minutes instead of the daemon'
complete -c orphand -n "__fish_orphand_using_subcommand install" -l observe -d 'For a trial: it says what it would do, and signals nothing'
complete -c orphand -n "__fish_orphand_using_subcommand install" -l print -d 'Only show the files and commands'
complete -c orphand -n "__fish_orphand_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -l user -d 'For your own processes'
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -l system -d 'For everybody\'s processes on this machine'
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -l purge -d 'Take the configuration away too, and what orphand remembers'
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -l print -d 'Only show what would be done'
complete -c orphand -n "__fish_orphand_using_subcommand uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand completions" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand completions" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand completions" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand completions" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c orphand -n "__fish_orphand_using_subcommand man" -l config -d 'Read this configuration file too; it wins over the others' -r -F
complete -c orphand -n "__fish_orphand_using_subcommand man" -l set -d 'Set one value, for example orphan.min_age=5m; may be given more than once' -r -f
complete -c orphand -n "__fish_orphand_using_subcommand man" -l log -d 'How much to say on stderr; `json` (or `debug,json`) says it in JSON' -r -f -a "error\t'Only what failed'
warn\t'And what is doubtful'
info\t'And what is done'
debug\t'And every signal'
trace\t'Everything'
json\t'One JSON object a line'"
complete -c orphand -n "__fish_orphand_using_subcommand man" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c orphand -n "__fish_orphand_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
