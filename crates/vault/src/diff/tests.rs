use pretty_assertions::assert_eq;

use super::*;

/// A diff in short: one line a file, then its lines with their signs.
fn short(diff: &Diff) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for file in &diff.files {
        let letter = file.status.letter();
        let (added, removed) = (file.added, file.removed);
        let _ = write!(text, "{letter} {} +{added} -{removed}", file.path);
        if let Some(old) = &file.old_path {
            let _ = write!(text, " from {old}");
        }
        text.push('\n');
        for line in &file.lines {
            let sign = match line.kind {
                LineKind::Hunk => "@",
                LineKind::Context => " ",
                LineKind::Added => "+",
                LineKind::Removed => "-",
                LineKind::Note => "!",
            };
            let _ = writeln!(text, "{sign}{}", line.text);
        }
    }
    text
}

#[track_caller]
fn case(diff: &str, want: &str) {
    assert_eq!(short(&parse(diff.as_bytes(), false)), want);
}

#[test]
fn files_and_their_lines_are_read() {
    case("", "");
    case(
        "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@ fn x() {\n one\n-two\n+2\n three\n",
        "M a +1 -1\n@@@ -1,3 +1,3 @@ fn x() {\n one\n-two\n+2\n three\n",
    );
    case(
        "diff --git a/new b/new\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\
         diff --git a/old b/old\ndeleted file mode 100644\nindex 1..0\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n",
        "A new +1 -0\n@@@ -0,0 +1 @@\n+x\nD old +0 -1\n@@@ -1 +0,0 @@\n-y\n",
    );
    case(
        "diff --git a/e b/e\nnew file mode 100644\nindex 0..e69\n",
        "A e +0 -0\n",
    );
}

#[test]
fn lines_that_look_like_a_head_are_lines() {
    case(
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n--- a/x\n-diff --git a/q b/q\n+++ b/y\n+@@ -1 +1 @@\ndiff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n",
        "M a +2 -2\n@@@ -1,2 +1,2 @@\n--- a/x\n-diff --git a/q b/q\n+++ b/y\n+@@ -1 +1 @@\nM b +1 -1\n@@@ -1 +1 @@\n-1\n+2\n",
    );
}

#[test]
fn the_end_of_a_file_and_of_a_line_are_told() {
    case(
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n",
        "M a +1 -1\n@@@ -1 +1 @@\n-x\n!no newline at end of file\n+x\n",
    );
    case(
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\r\n+y\r\n\\ No newline at end of file\n",
        "M a +1 -1\n@@@ -1 +1 @@\n-x\n+y\n!no newline at end of file\n",
    );
    case(
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+x\r\n",
        "M a +1 -1\n@@@ -1 +1 @@\n-x\n+x\n!line endings changed\n",
    );
}

#[test]
fn modes_types_and_binaries_are_told() {
    case(
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n",
        "M run +0 -0\n!mode 100644 → 100755\n",
    );
    case(
        "diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n",
        "M p.png +0 -0\n!binary file\n",
    );
    case(
        "diff --git a/l b/l\ndeleted file mode 100644\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
         diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+to\n\\ No newline at end of file\n",
        "T l +1 -1\n@@@ -1 +0,0 @@\n-x\n@@@ -0,0 +1 @@\n+to\n!no newline at end of file\n",
    );
}

#[test]
fn paths_are_read_whatever_is_in_them() {
    case(
        "diff --git a/one b/two\nsimilarity index 90%\nrename from one\nrename to two\n--- a/one\n+++ b/two\n@@ -1 +1 @@\n-1\n+2\n",
        "R two +1 -1 from one\n@@@ -1 +1 @@\n-1\n+2\n",
    );
    case(
        "diff --git a/a b c b/a b c\nindex 1..2\n--- a/a b c\t\n+++ b/a b c\t\n@@ -1 +1 @@\n-1\n+2\n",
        "M a b c +1 -1\n@@@ -1 +1 @@\n-1\n+2\n",
    );
    case(
        "diff --git a/a b c b/a b c\nnew file mode 100644\n",
        "A a b c +0 -0\n",
    );
    case(
        "diff --git \"a/Gr\\303\\274\\303\\237e \\\"x\\\"\\t\\\\\" \"b/Gr\\303\\274\\303\\237e \\\"x\\\"\\t\\\\\"\nnew file mode 100644\n",
        "A Grüße \"x\"\t\\ +0 -0\n",
    );
    case(
        "diff --git a/plain \"b/\\303\\274\"\nsimilarity index 100%\nrename from plain\nrename to \"\\303\\274\"\n",
        "R ü +0 -0 from plain\n",
    );
    case(
        "diff --git x/y x/y\nnew file mode 100644\n",
        "A x/y +0 -0\n",
    );
    case(
        "diff --git i/y w/y\nold mode 100644\nnew mode 100755\n",
        "M y +0 -0\n!mode 100644 → 100755\n",
    );
}

#[test]
fn bytes_that_are_no_text_are_shown_as_far_as_they_go() {
    let diff = parse(
        b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-\xff\n+ok\n",
        false,
    );
    assert_eq!(short(&diff), "M a +1 -1\n@@@ -1 +1 @@\n-\u{fffd}\n+ok\n");
    for junk in [
        "\0\n\n",
        "@@ -1 +1 @@\nx",
        "diff --git \n@@ -x +y @@\n",
        "diff --git \"a",
    ] {
        let _ = parse(junk.as_bytes(), false);
    }
}

#[test]
fn a_huge_diff_is_cut_but_counted() {
    let mut text = format!(
        "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,{} @@\n",
        30_000
    );
    text.push_str(&"+x\n".repeat(30_000));
    text.push_str("diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n");
    let diff = parse(text.as_bytes(), true);
    let counts: Vec<_> = diff
        .files
        .iter()
        .map(|it| (it.added, it.removed, it.lines.len()))
        .collect();
    assert_eq!(counts, [(30_000, 0, 20_000), (1, 1, 0)]);
    assert_eq!(
        diff.cut,
        Some(Cut {
            lines: 10_004,
            unread: true,
            new_files: 0,
        })
    );
    let long = format!(
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+{}\n",
        "é".repeat(9000)
    );
    let line = &parse(long.as_bytes(), false).files[0].lines[1];
    assert_eq!(line.text, format!("{}…", "é".repeat(1000)));
}

#[test]
fn the_list_of_changed_files_is_read() {
    let listing = b":100644 100644 a b M\0a b\0:000000 100644 0 c A\0n\0:100644 100644 a a R100\0from\0to\0:100644 000000 a 0 D\0gone\0:100644 120000 a b T\0t\0\
        1\t2\ta b\x00-\t-\tn\x000\t0\t\0from\0to\x000\t7\tgone\0";
    let shown: Vec<String> = changed_files(listing)
        .iter()
        .map(|file| {
            format!(
                "{} {} +{} -{} {}",
                file.status.letter(),
                file.path,
                file.added,
                file.removed,
                if file.binary { "binary" } else { "text" }
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "M a b +1 -2 text",
            "A n +0 -0 binary",
            "R to +0 -0 text",
            "D gone +0 -7 text",
            "T t +0 -0 text",
        ]
    );
}
