//! What tests look like, language by language: where they are, how one begins, how it is skipped,
//! how it checks something. A table; who reads it is `sheet`.

mod others;

use super::code::{Quote, Syntax};
use others::{CPP, CSHARP, DART, ELIXIR, JAVA, KOTLIN, PHP, RUBY, SHELL, SWIFT};

/// What is known of a language's tests.
#[derive(Debug)]
pub(super) struct Language {
    /// Endings of its files.
    pub(super) endings: &'static [&'static str],
    /// How names of test files begin, without folders.
    pub(super) starts: &'static [&'static str],
    /// How names of test files end.
    pub(super) ends: &'static [&'static str],
    /// Folders with tests.
    pub(super) folders: &'static [&'static str],
    /// Tests may stand in any file.
    pub(super) anywhere: bool,
    /// Its comments and strings.
    pub(super) syntax: Syntax,
    /// How tests begin.
    pub(super) forms: &'static [Form],
    /// Where the body of a test ends.
    pub(super) body: Body,
    /// What keeps tests from being run, in code.
    pub(super) skips: &'static [&'static str],
    /// The same, in comments.
    pub(super) comment_skips: &'static [&'static str],
    /// What checks something.
    pub(super) asserts: &'static [&'static str],
    /// What looks as if it did.
    pub(super) hollow: &'static [&'static str],
    /// How a function begins that tests may call.
    pub(super) helpers: &'static [&'static str],
}

/// How a test begins.
#[derive(Debug)]
pub(super) enum Form {
    /// Something before a function makes it a test.
    Marked {
        /// What.
        marks: &'static [&'static str],
        /// What stands before the function's name; without it, its name is the first that is called.
        keyword: Option<&'static str>,
    },
    /// A function's name does.
    Named {
        /// The function.
        pattern: &'static str,
        /// How its name begins.
        starts: &'static [&'static str],
    },
    /// A call or macro with a title.
    Titled {
        /// What is called.
        words: &'static [&'static str],
        /// What is called around several of them.
        groups: &'static [&'static str],
        /// Those of them that are not run.
        skipped: &'static [&'static str],
        /// The title must be a string.
        quoted: bool,
    },
}

/// Where the body of a test ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// With its closing bracket.
    Brackets,
    /// With the last line that is indented more.
    Indented,
    /// Where the next one begins.
    UntilNext,
}

/// The language of a file.
pub(super) fn language_of(path: &str) -> Option<&'static Language> {
    let name = file_name(path);
    let (_, ending) = name.rsplit_once('.')?;
    LANGUAGES
        .iter()
        .find(|language| language.endings.contains(&ending))
}

impl Language {
    /// Whether the place of a file says that it holds tests.
    pub(super) fn is_test_path(&self, path: &str) -> bool {
        let name = file_name(path);
        let folders = path.strip_suffix(name).unwrap_or_default();
        self.starts.iter().any(|start| name.starts_with(start))
            || self.ends.iter().any(|end| name.ends_with(end))
            || folders.split('/').any(|part| self.folders.contains(&part))
    }
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

const fn line(mark: &'static str) -> Quote {
    Quote {
        mark,
        multiline: false,
        escapes: true,
    }
}

const fn long(mark: &'static str) -> Quote {
    Quote {
        mark,
        multiline: true,
        escapes: true,
    }
}

const fn raw(mark: &'static str) -> Quote {
    Quote {
        mark,
        multiline: true,
        escapes: false,
    }
}

const fn curly(strings: &'static [Quote]) -> Syntax {
    Syntax {
        line_comments: &["//"],
        is_spaced: false,
        block_comment: Some(("/*", "*/")),
        nested: false,
        strings,
        is_rust: false,
    }
}

const fn hashed(strings: &'static [Quote]) -> Syntax {
    Syntax {
        line_comments: &["#"],
        is_spaced: false,
        block_comment: None,
        nested: false,
        strings,
        is_rust: false,
    }
}

/// All languages.
pub(super) const LANGUAGES: &[Language] = &[
    RUST, PYTHON, JAVASCRIPT, GO, JAVA, KOTLIN, CSHARP, RUBY, ELIXIR, PHP, SWIFT, DART, CPP, SHELL,
];

const RUST: Language = Language {
    endings: &["rs"],
    starts: &[],
    ends: &["_test.rs", "_tests.rs"],
    folders: &["tests"],
    anywhere: true,
    syntax: Syntax {
        nested: true,
        is_rust: true,
        ..curly(&[long("\"")])
    },
    forms: &[Form::Marked {
        marks: &[
            "#[ test ]",
            "#[ *::test",
            "#[ *_test",
            "#[ rstest",
            "#[ test_case",
            "#[ quickcheck",
        ],
        keyword: Some("fn $"),
    }],
    body: Body::Brackets,
    skips: &[
        "#[ ignore",
        ", ignore ) ]",
        ", ignore =",
        "#[ cfg(any()) ]",
        "#[ cfg(false) ]",
    ],
    comment_skips: &[],
    asserts: &[
        "assert*",
        "prop_assert*",
        "debug_assert*",
        "should_panic",
        "panic!",
        "unreachable!",
        "insta::*",
        "check*",
        "verify*",
        "ensure*",
    ],
    hollow: &[
        "assert!( true",
        "assert_eq!( true, true",
        "assert_eq!( 1, 1",
    ],
    helpers: &["fn $"],
};

const PYTHON: Language = Language {
    endings: &["py"],
    starts: &["test_", "conftest.py", "tests.py"],
    ends: &["_test.py"],
    folders: &["tests", "test"],
    anywhere: false,
    syntax: hashed(&[long("\"\"\""), long("'''"), line("\""), line("'")]),
    forms: &[Form::Named {
        pattern: "def $",
        starts: &["test"],
    }],
    body: Body::Indented,
    skips: &[
        "mark.skip*",
        "mark.xfail",
        "pytest.skip(",
        "pytest.xfail(",
        "pytest.importorskip(",
        "unittest.skip*",
        "@skip*",
        "self.skipTest(",
        "raise SkipTest",
        "expectedFailure",
        "collect_ignore*",
        "pytest_collection_modifyitems",
        "pytest_ignore_collect",
        "__test__ = False",
    ],
    comment_skips: &[],
    asserts: &[
        "assert*",
        "pytest.raises",
        "pytest.warns",
        "expect*",
        "check*",
        "verify*",
        "ensure*",
        "should*",
        "fail",
    ],
    hollow: &["assert True", "assertTrue( True", "assert 1"],
    helpers: &["def $"],
};

const JAVASCRIPT: Language = Language {
    endings: &["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts"],
    starts: &[],
    ends: &[
        ".test.js",
        ".test.jsx",
        ".test.ts",
        ".test.tsx",
        ".test.mjs",
        ".test.cjs",
        ".test.mts",
        ".spec.js",
        ".spec.jsx",
        ".spec.ts",
        ".spec.tsx",
        ".spec.mjs",
        ".spec.cjs",
        ".spec.mts",
        ".cy.js",
        ".cy.ts",
        ".cy.tsx",
        "-test.js",
        "-test.ts",
        "_test.js",
        "_test.ts",
    ],
    folders: &["__tests__", "tests", "test", "spec", "e2e"],
    anywhere: false,
    syntax: curly(&[long("`"), line("\""), line("'")]),
    forms: &[Form::Titled {
        words: &["it", "test", "specify", "fit", "xit", "xtest", "xspecify"],
        groups: &[
            "describe",
            "context",
            "suite",
            "fdescribe",
            "xdescribe",
            "xcontext",
        ],
        skipped: &[
            "xit",
            "xtest",
            "xspecify",
            "xdescribe",
            "xcontext",
            "fit",
            "fdescribe",
        ],
        quoted: false,
    }],
    body: Body::Brackets,
    skips: &[
        "this.skip(",
        "t.skip(",
        "t.todo(",
        "ctx.skip(",
        "pending(",
        "skip: true",
        "todo: true",
        "only: true",
    ],
    comment_skips: &[],
    asserts: &[
        "expect*",
        "assert*",
        "should*",
        "t.*(",
        "getBy*",
        "findBy*",
        "check*",
        "verify*",
        "ensure*",
        "fail(",
        "strictEqual",
        "deepEqual",
        "deepStrictEqual",
        "equal(",
        "ok(",
        "throws(",
        "rejects(",
    ],
    hollow: &[
        "expect( true ).",
        "expect( 1 ).",
        "assert( true",
        "assert.ok( true",
        "t.pass(",
        "assert.equal( true, true",
        "assert.equal( 1, 1",
    ],
    helpers: &["function $", "const $ ="],
};

const GO: Language = Language {
    endings: &["go"],
    starts: &[],
    ends: &["_test.go"],
    folders: &[],
    anywhere: false,
    syntax: curly(&[raw("`"), line("\""), line("'")]),
    forms: &[
        Form::Named {
            pattern: "func $ (",
            starts: &["Test", "Fuzz", "Benchmark", "Example"],
        },
        Form::Named {
            pattern: ") $ (",
            starts: &["Test"],
        },
    ],
    body: Body::Brackets,
    skips: &[
        "t.Skip*(",
        "b.Skip*(",
        "f.Skip*(",
        "tb.Skip*(",
        "T().Skip*(",
        "XIt(",
        "PIt(",
        "FIt(",
        "XDescribe(",
        "PDescribe(",
        "FDescribe(",
    ],
    comment_skips: &["//go:build ignore", "// +build ignore"],
    asserts: &[
        "t.Error*(",
        "t.Fatal*(",
        "t.Fail*(",
        "b.Fatal*(",
        "f.Fatal*(",
        "tb.Fatal*(",
        "tb.Error*(",
        "assert*",
        "require*",
        "Expect*",
        "check*",
        "verify*",
        "ensure*",
        "must*",
        "want*(",
        "Equal(",
        "NoError(",
        "panic(",
    ],
    hollow: &["assert.True( t, true", "require.True( t, true"],
    helpers: &["func $ ("],
};
