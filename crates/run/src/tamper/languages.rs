//! What tests look like in each language. The table is read by `test_file`.

use super::pattern::Pattern;

/// How a language writes tests. Patterns other than `paths` and `literals` are matched against
/// code without comments and string contents.
#[derive(Debug)]
pub(super) struct Language {
    /// File extensions, separated by blanks.
    extensions: &'static str,
    /// Paths of files that hold tests.
    paths: Pattern,
    /// Tests may be in any file, not only in those that `paths` matches.
    pub(super) anywhere: bool,
    /// Comments and strings. A match with a group is kept as code.
    pub(super) literals: Pattern,
    /// The head of a test; the group is its name.
    pub(super) tests: Pattern,
    pub(super) body: Body,
    /// What keeps this test, or all others, from running.
    pub(super) skips: Pattern,
    pub(super) assertions: Pattern,
    /// The head of a function that tests may call; the group is its name.
    pub(super) helpers: Pattern,
}

/// Where the body of a test ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// With its closing bracket.
    Brackets,
    /// With the last line that is indented more than the first.
    Indented,
    /// Where the next test begins.
    UntilNext,
}

pub(super) fn language_of(path: &str) -> Option<&'static Language> {
    let (_, extension) = file_name(path).rsplit_once('.')?;
    LANGUAGES
        .iter()
        .find(|language| has_word(language.extensions, extension))
}

impl Language {
    /// Whether the path alone says that a file holds tests.
    pub(super) fn is_test_path(&self, path: &str) -> bool {
        self.paths.is_match(path)
    }
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a list of words separated by blanks has this one.
pub(super) fn has_word(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|it| it == word)
}

/// Assertions that always hold, in any language; and `@test`, which only holds the word.
pub(super) static HOLLOW: Pattern = Pattern::new(
    r#"\b(?:[aA]ssert|ASSERT|XCTAssert|expect|EXPECT|require|REQUIRE|CHECK)
        (?:(?:[._]?(?:Is)?(?:[tT]rue|TRUE|ok|That))?!?\(\s*(?:t,\s*)?[tT]rue(?:,\s*(?:isTrue|true))?
        |[\w.]*(?:[eE]q|EQ|[sS]ame)\w*!?\(\s*(?:[tT]rue,\s*[tT]rue|1,\s*1))
        \s*(?:,\s*"[^"]*"\s*)?\)
    |\bexpect\(\s*1\s*\)
    |\bassert(?:_equal)?\s+(?:[tT]rue|1|1\s==\s1|1,\s*1)\s*?(?:,|$)
    |\btrue\s+shouldBe\s+true\b|\bAssert\.Pass\(|\bt\.pass\(
    |\[\s*1\s+(?:-eq|=)\s+1\b|\btest\s+1\s+=\s+1\b|@test\b"#,
);

static LANGUAGES: [Language; 14] = [
    // Rust
    Language {
        extensions: "rs",
        paths: Pattern::new(r"(?:^|/)tests/|_tests?\.rs$"),
        anywhere: true,
        literals: Pattern::new(
            r#"<slashes>|<nested>|\bb?r"[^"]*"?|\bb?r\#"(?s:.)*?(?:"\#|\z)
            |\bb?r\#\#"(?s:.)*?(?:"\#\#|\z)|\bb?r\#\#\#"(?s:.)*?(?:"\#\#\#|\z)|<long>|<char>"#,
        ),
        tests: Pattern::new(
            r"\#\[\s*(?:test\s*\]|\w[\w:]*(?:::|_)test\b|rstest\b|test_case\b|quickcheck\b)<gap>
            \bfn\s+(\w+)",
        ),
        body: Body::Brackets,
        skips: Pattern::new(
            r"\#\[\s*ignore\b|,\s*ignore\s*(?:=|\)\s*\])|\#\[\s*cfg\((?:any\(\)|false)\)\s*\]",
        ),
        assertions: Pattern::new(
            r"\b(?:(?:prop_|debug_)?assert|check|verify|ensure|insta::)\w*
            |\bshould_panic\b|\b(?:panic|unreachable)!",
        ),
        helpers: Pattern::new(r"\bfn\s+(\w+)"),
    },
    // Python
    Language {
        extensions: "py",
        paths: Pattern::new(r"(?:^|/)tests?/|(?:^|/)(?:test_[^/]*|conftest|tests)\.py$|_test\.py$"),
        anywhere: false,
        literals: Pattern::new("<hash>|<double3>|<single3>|<double>|<single>"),
        tests: Pattern::new(r"\bdef\s+(test\w*)"),
        body: Body::Indented,
        skips: Pattern::new(
            r"\bmark\.(?:skip|xfail)|\bunittest\.skip|@skip|\bself\.skipTest\(
            |\bpytest\.(?:skip|xfail|importorskip)\(|\braise\s+SkipTest\b|\bexpectedFailure\b
            |\bcollect_ignore|\bpytest_(?:collection_modifyitems|ignore_collect)\b
            |\b__test__\s*=\s*False\b",
        ),
        assertions: Pattern::new(
            r"\b(?:assert|expect|check|verify|ensure|should)\w*|\bpytest\.(?:raises|warns)\b|\bfail\b",
        ),
        helpers: Pattern::new(r"\bdef\s+(\w+)"),
    },
    // JavaScript and TypeScript
    Language {
        extensions: "js jsx ts tsx mjs cjs mts cts",
        paths: Pattern::new(
            r"(?:^|/)(?:__tests__|tests?|spec|e2e)/|\.(?:test|spec|cy)\.\w+$|[-_]test\.[jt]s$",
        ),
        anywhere: false,
        literals: Pattern::new("<slashes>|<block>|<backtick>|<double>|<single>"),
        // Only a plain call may have a title that is no string: `test.skip(browser == "x")` has none.
        tests: Pattern::new(
            r#"<call>[fx]?(?:it|test|specify)
            (?:(?:\.\w+(?:<args>|`[^`]*`)?)*\s*\(\s*["'`]|\s*\(\s*)([^"'`,)]+)"#,
        ),
        body: Body::Brackets,
        skips: Pattern::new(
            r"<call>[fx](?:it|test|specify|describe|context)\b[\w.]*\s*[(`]
            |<call>(?:it|test|specify|describe|context|suite)(?:\.\w+<args>?)*?
                \.(?:skip|todo|fixme|skipIf|runIf|failing|fails|only)\b
            |\b(?:this|t|ctx)\.skip\(|\bt\.todo\(|\bpending\(|\b(?:skip|todo|only):\s*true\b",
        ),
        assertions: Pattern::new(
            r"\b(?:expect|assert|should|getBy|findBy|check|verify|ensure)[\w.]*|\bt\.\w+\(
            |\b(?:strictEqual|deepEqual|deepStrictEqual|(?:equal|ok|throws|rejects|fail)\()",
        ),
        helpers: Pattern::new(
            r"\bfunction\s+(\w+)|\bconst\s+(\w+)\s*=\s*(?:async\b\s*)?(?:\(|function\b|\w+\s*=>)",
        ),
    },
    // Go
    Language {
        extensions: "go",
        paths: Pattern::new(r"_test\.go$"),
        anywhere: false,
        literals: Pattern::new(
            r"(//(?:go:|\x20\+)build[^\n]*)|<slashes>|<block>|`[^`]*`?|<double>|<char>",
        ),
        tests: Pattern::new(r"\bfunc\s+(?:\([^)]*\)\s*)?((?:Test|Fuzz|Benchmark|Example)\w*)\s*\("),
        body: Body::Brackets,
        skips: Pattern::new(
            r"\b(?:t|b|f|tb|T\(\))\.Skip\w*\(|\b[XPF](?:It|Describe)\(
            |//(?:go:|\x20\+)build\signore\b",
        ),
        assertions: Pattern::new(
            r"\b(?:assert|require|Expect|check|verify|ensure|must)[\w.]*|\bwant\w*\(
            |\b(?:t|b|f|tb)\.(?:Error|Fatal|Fail)\w*\(|\b(?:Equal|NoError|panic)\(",
        ),
        helpers: Pattern::new(r"\bfunc\s+(\w+)\s*\("),
    },
    // Java and Groovy
    Language {
        extensions: "java groovy",
        paths: Pattern::new(
            r"(?:^|/)(?:test|androidTest|testFixtures)/|(?:^|/)Test[^/]*$
            |(?:Tests?|IT|TestCase)\.java$|(?:Spec|Test)\.groovy$",
        ),
        anywhere: true,
        literals: Pattern::new("<slashes>|<block>|<double3>|<double>|<char>"),
        tests: Pattern::new(
            r"@(?:(?:Parameterized|Repeated)?Test|TestFactory|Property)\b<gap>[\w>\]]\s+(\w+)\s*\(",
        ),
        body: Body::Brackets,
        skips: Pattern::new(JVM_SKIPS),
        assertions: Pattern::new(JVM_ASSERTIONS),
        helpers: Pattern::new(r"\bvoid\s+(\w+)\s*\("),
    },
    // Kotlin
    Language {
        extensions: "kt kts",
        paths: Pattern::new(r"(?:^|/)(?:\w*[tT]ests?/|Test[^/]*$)|(?:Tests?|Spec|IT)\.kt$"),
        anywhere: false,
        literals: Pattern::new("<slashes>|<nested>|<double3>|<double>|<char>"),
        tests: Pattern::new(
            r#"@(?:(?:Parameterized|Repeated)?Test|TestFactory)\b<gap>\bfun\s+(`[^`]*`|\w+)
            |<call>(?:x?(?:test|should|it|scenario)|expect)\s*\(\s*"([^"]*)"#,
        ),
        body: Body::Brackets,
        skips: Pattern::new(JVM_SKIPS),
        assertions: Pattern::new(JVM_ASSERTIONS),
        helpers: Pattern::new(r"\bfun\s+(\w+)\s*\("),
    },
    // C#
    Language {
        extensions: "cs",
        paths: Pattern::new(r"(?:^|/)[tT]ests?/|(?:Tests?|Specs?)\.cs$"),
        anywhere: true,
        literals: Pattern::new("<slashes>|<block>|<double3>|<double>|<char>"),
        tests: Pattern::new(
            r"\[\s*(?:Fact|Theory|Test|TestCase\w*|TestMethod|DataTestMethod)\b<gap>
            [\w>\]]\s+(\w+)\s*\(",
        ),
        body: Body::Brackets,
        skips: Pattern::new(
            r#"\b(?:Skip|Ignore)\s*=\s*"|\[\s*(?:Ignore|Explicit)\b
            |\bAssert\.(?:Ignore|Inconclusive)\("#,
        ),
        assertions: Pattern::new(
            r"\b(?:Assert|Should|Verify|Expect|Throws|Check|Ensure)[\w.]*|\bFail\w*\(",
        ),
        helpers: Pattern::new(r"\bvoid\s+(\w+)\s*\("),
    },
    // Ruby
    Language {
        extensions: "rb",
        paths: Pattern::new(r"(?:^|/)(?:spec/|test/|test_[^/]*$)|_(?:spec|test)\.rb$"),
        anywhere: false,
        literals: Pattern::new("<hash>|<double>|<single>"),
        tests: Pattern::new(
            r#"\bdef\s+(test_\w+)|<call>[fx]?it\s*(\{[^\n]*)
            |<call>(?:[fx]?it|x?(?:specify|example|scenario)|test)(?:\s*\(\s*|\s+)["']([^"']*)"#,
        ),
        body: Body::UntilNext,
        skips: Pattern::new(
            r#"\b(?:skip|pending|omit)\b|\bfocus:\s*true\b|:focus\b
            |<call>[fx](?:it|specify|example|scenario|describe|context)\b\s*[("'{A-Z]"#,
        ),
        assertions: Pattern::new(
            r"\b(?:assert|refute|expect|should|must_|wont_|check|verify|ensure_|is_expected|flunk)\w*",
        ),
        helpers: Pattern::new(r"\bdef\s+(?:self\.)?(\w+)"),
    },
    // Elixir
    Language {
        extensions: "exs",
        paths: Pattern::new(r"_test\.exs$"),
        anywhere: false,
        literals: Pattern::new("<hash>|<double3>|<double>"),
        tests: Pattern::new(r#"<call>(?:test|property|feature)\b\s*\(?\s*"([^"]*)"#),
        body: Body::UntilNext,
        skips: Pattern::new(r"@(?:module|describe)?tag\s+(?::skip\b|skip:)"),
        assertions: Pattern::new(r"\b(?:assert|refute|check|verify|expect|flunk)\w*"),
        helpers: Pattern::new(r"\bdefp?\s+(\w+)"),
    },
    // PHP, where `#[` begins an attribute
    Language {
        extensions: "php",
        paths: Pattern::new(r"(?:^|/)(?:tests?|Tests)/|(?:Test|TestCase|Cest)\.php$"),
        anywhere: false,
        literals: Pattern::new(r"<slashes>|\#[^\[\n][^\n]*|<block>|<double>|<single>"),
        tests: Pattern::new(
            r#"\#\[\s*Test\b<gap>\bfunction\s+(\w+)|\bfunction\s+(test\w*)
            |<call>(?:it|test)\s*\(\s*["']([^"']*)"#,
        ),
        body: Body::Brackets,
        skips: Pattern::new(r"\bmarkTest(?:Skipped|Incomplete)\(|\}\s*\)\s*->(?:skip|todo|only)\("),
        assertions: Pattern::new(r"\b(?:assert|expect|should|check|verify)\w*|\bsee\w*\(|\bfail\("),
        helpers: Pattern::new(r"\bfunction\s+(\w+)"),
    },
    // Swift
    Language {
        extensions: "swift",
        paths: Pattern::new(r"(?:^|/)Tests/|(?:Tests?|Spec)\.swift$"),
        anywhere: false,
        literals: Pattern::new("<slashes>|<nested>|<double3>|<double>"),
        tests: Pattern::new(r"@Test\b<gap>\bfunc\s+(`[^`]*`|\w+)|\bfunc\s+(test\w*)"),
        body: Body::Brackets,
        skips: Pattern::new(r"\bXCTSkip|\.disabled\(|\bwithKnownIssue\b"),
        assertions: Pattern::new(
            r"\b(?:XCT(?:Assert|Fail|Unwrap)|expect|assert|check|verify)\w*|\#require\b",
        ),
        helpers: Pattern::new(r"\bfunc\s+(\w+)"),
    },
    // Dart
    Language {
        extensions: "dart",
        paths: Pattern::new(r"_test\.dart$"),
        anywhere: false,
        literals: Pattern::new("<slashes>|<block>|<double3>|<single3>|<double>|<single>"),
        tests: Pattern::new(
            r#"<call>(?:test|testWidgets|blocTest)(?:<[^>]*>)?\s*\(\s*["']?([^"',)]+)"#,
        ),
        body: Body::Brackets,
        skips: Pattern::new(r#"\bskip:\s*(?:true\b|["'])|@Skip\b|\bsolo:\s*true\b"#),
        assertions: Pattern::new(r"\b(?:expect|verify|assert|check)\w*|\bfail\("),
        helpers: Pattern::new(r"\bvoid\s+(\w+)\s*\("),
    },
    // C++
    Language {
        extensions: "cc cpp cxx",
        paths: Pattern::new(
            r"(?:^|/)(?:tests?/|unittests/|test_[^/]*$)|_(?:tests?|unittest)\.(?:cc|cpp)$
            |Tests?\.cpp$",
        ),
        anywhere: false,
        literals: Pattern::new("<slashes>|<block>|<double>|<char>"),
        tests: Pattern::new(
            r#"\b(?:TEST(?:_F|_P|_CASE)?|TYPED_TEST|SCENARIO|BOOST_AUTO_TEST_CASE)
            \s*\(\s*"?([^")]+)"#,
        ),
        body: Body::Brackets,
        skips: Pattern::new(r"\b(?:GTEST_)?SKIP\(|\bDISABLED_"),
        assertions: Pattern::new(r"\b(?:EXPECT_|ASSERT_|REQUIRE|CHECK|BOOST_|assert)\w*|\bFAIL\("),
        helpers: Pattern::new(r"\bvoid\s+(\w+)\s*\("),
    },
    // Shells: functions `test…` as shUnit2 and small runners have them, and the tests of Bats
    Language {
        extensions: "sh bash bats",
        paths: Pattern::new(
            r"(?:^|/)(?:tests?/|spec/|test[-_][^/]*$)|[-_]test\.sh$|_test\.bash$|\.bats$",
        ),
        anywhere: false,
        // `${name#start}` is no comment.
        literals: Pattern::new(r"(?:^|\s)\#[^\n]*|<long>|'[^']*'?"),
        tests: Pattern::new(r#"\bfunction\s+(test\w*)|\b(test\w*)\s*\(\s*\)|@test\s+["']([^"']*)"#),
        body: Body::Brackets,
        skips: Pattern::new(r"\b(?:skip|startSkipping)\b"),
        assertions: Pattern::new(
            r"\b(?:assert|refute|expect|check|verify|ensure|fail)\w*|\[+
            |\b(?:test|grep|diff|cmp)\b|\b(?:exit|return)\s+1\b",
        ),
        helpers: Pattern::new(r"\bfunction\s+(\w+)|\b(\w+)\s*\(\s*\)"),
    },
];

const JVM_SKIPS: &str = r"@Ignore\b|@Disabled|\benabled\s*=\s*false\b|\bAssumptions\.abort\(
    |\bassumeTrue\(\s*false\b|\bassumeFalse\(\s*true\b
    |<call>x(?:test|should|it|scenario|describe|context|feature)\s*\(";

const JVM_ASSERTIONS: &str = r"
    \b(?:assert|verify|expect|should|andExpect|check|ensure|Assert|StepVerifier|Truth)[\w.]*
    |\b(?:fail|then)\w*\(";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for language in &LANGUAGES {
            let patterns = [
                &language.paths,
                &language.literals,
                &language.tests,
                &language.skips,
                &language.assertions,
                &language.helpers,
            ];
            for pattern in patterns {
                assert!(pattern.regex().is_some(), "{pattern:?}");
            }
        }
        assert!(HOLLOW.regex().is_some());
    }
}
