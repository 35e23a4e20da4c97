# SPDX-License-Identifier: MIT
# fish completion for prof(1). `prof __complete` says what a word may become.

# Names of files; fish's own functions for this take no blanks in all versions.
function __prof_complete_path
    complete -C "'' "(string escape -- $argv[1])
end

function __prof_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct | string unescape)
    set -l before (string match -r -- '^--[^=]*=' $word)
    set -l path (string replace -r -- '^--[^=]*=' '' "$word")
    for line in (command $words[1] __complete $words[2..-1] "$word" 2>/dev/null)
        switch $line
            case ':command *'
                set -l first (math (string replace ':command ' '' -- $line) + 2)
                set -l rest $words[(math $first + 1)..-1] $word
                # One word is the name of a program.
                complete -C (string join ' ' -- (string escape -- $rest))
            case :files
                printf "%s\n" "$before"(__prof_complete_path "$path")
            case :folders
                printf "%s\n" "$before"(__prof_complete_path "$path" | string match -- '*/')
            case '*'
                echo $line
        end
    end
end

complete -c prof -f -a '(__prof_complete)'
