//! Filters and line endings, with which git's content differs from the user's bytes.

use pretty_assertions::assert_eq;

use crate::faults::{fails_without_a_trace, files_come_back, leaves_no_trace, prepared};
use crate::sandbox::{GOOD, Sandbox, there};

#[test]
fn f09_line_ends_come_back_as_they_were() {
    let sandbox = prepared(
        "printf '* text=auto\\n*.crlf text eol=crlf\\n' > .gitattributes; printf 'a\\r\\nb\\r\\n' > w.crlf; printf 'a\\n' > u.txt
         git add -A; git commit -qm ends; git config core.autocrlf true; git config core.safecrlf true
         printf 'a\\r\\nb\\nmixed\\r\\n' > mixed.txt; printf 'x\\n' > w.crlf",
    );
    files_come_back(&sandbox, "echo x > mixed.txt; echo y > w.crlf; rm u.txt");
    assert_eq!(sandbox.read("mixed.txt"), "a\r\nb\nmixed\r\n");
    assert_eq!(sandbox.read("w.crlf"), "x\n");
    assert_eq!(sandbox.read("u.txt"), "a\n");
}

#[test]
fn f09_what_a_filter_drops_comes_back() {
    let sandbox = leaves_no_trace(
        "echo '*.nb filter=strip' > .gitattributes; git config filter.strip.clean 'grep -v output'
         printf 'code\\noutput\\n' > book.nb; git add -A; git commit -qm book; printf 'more\\noutput 2\\n' > book.nb",
        "echo agent > book.nb",
    );
    assert_eq!(sandbox.read("book.nb"), "more\noutput 2\n");
}

#[test]
fn f09_a_file_git_cannot_store_is_reported_and_kept() {
    for attributes in ["filter=gone", "text working-tree-encoding=UTF-16"] {
        let sandbox = prepared(&format!(
            "git config filter.gone.required true; git config filter.gone.clean 'no-such-program'
             echo '*.odd {attributes}' > .gitattributes; printf 'odd' > x.odd"
        ));
        fails_without_a_trace(&sandbox, "rm x.odd");
        assert_eq!(sandbox.read("x.odd"), "odd");
        let told = sandbox.warnings();
        assert!(told.iter().any(|it| it.contains("x.odd")), "{told:?}");
    }
}

#[test]
fn f09e_filters_and_attributes_of_the_agents_are_not_run() {
    let evil = "for what in clean smudge process; do git config filter.evil.$what \"touch $root/EVIL; cat\"; done
         git config diff.evil.textconv \"touch $root/EVIL; cat\"; git config diff.evil.command \"touch $root/EVIL\"
         git config core.fsmonitor \"touch $root/EVIL\"; git config core.sshCommand \"touch $root/EVIL\"
         git config diff.external \"touch $root/EVIL\"; git config core.pager \"touch $root/EVIL\"
         echo '*.txt filter=evil diff=evil' > .gitattributes; echo '*.txt filter=evil diff=evil' > .git/info/attributes
         echo x > a.txt; echo n > new.txt";
    let sandbox = leaves_no_trace("", evil);
    assert!(there(&sandbox.root.join("EVIL")).is_none());
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{evil}\n{GOOD}"));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert!(there(&sandbox.root.join("EVIL")).is_none());
    assert_eq!(sandbox.git("show HEAD:new.txt"), "n\n");
}

/// A stand-in for git-lfs: a pointer in git, the object in `.git/lfs`.
const LARGE_FILES: &str = r#"
    mkdir -p .git/lfs
    cat > $root/lfs <<'END'
if [ "$1" = clean ]; then
    cat > "$2/new"; id=$(git hash-object --no-filters "$2/new"); mv "$2/new" "$2/$id"; echo "pointer $id"
else
    read -r _ id; cat "$2/$id"
fi
END
    git config filter.lfs.clean "sh $root/lfs clean $PWD/.git/lfs"
    git config filter.lfs.smudge "sh $root/lfs smudge $PWD/.git/lfs"
    git config filter.lfs.required true
    echo '*.bin filter=lfs' > .gitattributes; echo large > large.bin
    git add -A; git commit -qm lfs; echo larger > edited.bin
"#;

#[test]
fn f10_large_files_come_back_though_their_objects_are_gone() {
    let sandbox = prepared(LARGE_FILES);
    assert!(sandbox.git("show HEAD:large.bin").starts_with("pointer "));
    files_come_back(
        &sandbox,
        "rm -f .git/lfs/*; rm large.bin; echo agent > edited.bin",
    );
    assert_eq!(sandbox.read("large.bin"), "large\n");
    assert_eq!(sandbox.read("edited.bin"), "larger\n");
}

#[test]
fn f09_a_run_begins_where_the_only_uncommitted_file_is_one_git_cannot_store() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.odd filter=gone\n");
    sandbox.git("config filter.gone.required true");
    sandbox.git("config filter.gone.clean no-such-program");
    sandbox.git("add -A");
    sandbox.git("commit -q -m attributes");
    sandbox.write("x.odd", "odd");
    let said = sandbox.run(&["loop", "c"]).ends_with(0).stdout;
    assert!(said.contains("git cannot store `x.odd`"), "{said}");
    assert_eq!(sandbox.read("x.odd"), "odd");
}
