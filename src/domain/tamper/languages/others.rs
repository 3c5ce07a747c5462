//! What tests look like in Java, Kotlin, C#, Ruby, Elixir, PHP, Swift, Dart, C++ and shells.

use super::{Body, Form, Language, curly, hashed, line, long, raw};
use crate::domain::tamper::code::Syntax;

const JAVA_ASSERTS: &[&str] = &[
    "assert*",
    "verify*",
    "expect*",
    "should*",
    "fail*(",
    "then*(",
    "andExpect*",
    "check*",
    "ensure*",
    "Assert*",
    "StepVerifier*",
    "Truth*",
];

const JAVA_SKIPS: &[&str] = &[
    "@Ignore",
    "@Disabled*",
    "enabled = false",
    "assumeTrue( false",
    "assumeFalse( true",
    "Assumptions.abort(",
];

pub(super) const JAVA: Language = Language {
    endings: &["java", "groovy"],
    starts: &["Test"],
    ends: &[
        "Test.java",
        "Tests.java",
        "IT.java",
        "TestCase.java",
        "Spec.groovy",
        "Test.groovy",
    ],
    folders: &["test", "androidTest", "testFixtures"],
    anywhere: true,
    syntax: curly(&[long("\"\"\""), line("\""), line("'")]),
    forms: &[Form::Marked {
        marks: &[
            "@Test",
            "@ParameterizedTest",
            "@RepeatedTest",
            "@TestFactory",
            "@Property",
        ],
        keyword: None,
    }],
    body: Body::Brackets,
    skips: JAVA_SKIPS,
    comment_skips: &[],
    asserts: JAVA_ASSERTS,
    hollow: &[
        "assertTrue( true",
        "assertEquals( 1, 1",
        "assertThat( true ).isTrue(",
    ],
    helpers: &["void $ ("],
};

pub(super) const KOTLIN: Language = Language {
    endings: &["kt", "kts"],
    starts: &["Test"],
    ends: &["Test.kt", "Tests.kt", "Spec.kt", "IT.kt"],
    folders: &["test", "androidTest", "commonTest", "jvmTest"],
    anywhere: true,
    syntax: Syntax {
        nested: true,
        ..curly(&[long("\"\"\""), line("\""), line("'")])
    },
    forms: &[
        Form::Marked {
            marks: &[
                "@Test",
                "@ParameterizedTest",
                "@RepeatedTest",
                "@TestFactory",
            ],
            keyword: Some("fun $"),
        },
        Form::Titled {
            words: &[
                "test",
                "should",
                "it",
                "scenario",
                "expect",
                "xtest",
                "xshould",
                "xit",
                "xscenario",
            ],
            groups: &[
                "describe",
                "context",
                "feature",
                "xdescribe",
                "xcontext",
                "xfeature",
            ],
            skipped: &[
                "xtest",
                "xshould",
                "xit",
                "xscenario",
                "xdescribe",
                "xcontext",
                "xfeature",
            ],
            quoted: true,
        },
    ],
    body: Body::Brackets,
    skips: JAVA_SKIPS,
    comment_skips: &[],
    asserts: JAVA_ASSERTS,
    hollow: &[
        "assertTrue( true",
        "assertEquals( 1, 1",
        "true shouldBe true",
    ],
    helpers: &["fun $ ("],
};

pub(super) const CSHARP: Language = Language {
    endings: &["cs"],
    starts: &[],
    ends: &["Test.cs", "Tests.cs", "Spec.cs", "Specs.cs"],
    folders: &["test", "tests", "Tests", "Test"],
    anywhere: true,
    syntax: curly(&[long("\"\"\""), line("\""), line("'")]),
    forms: &[Form::Marked {
        marks: &[
            "[ Fact",
            "[ Theory",
            "[ Test ]",
            "[ Test (",
            "[ Test ,",
            "[ TestCase*",
            "[ TestMethod",
            "[ DataTestMethod",
        ],
        keyword: None,
    }],
    body: Body::Brackets,
    skips: &[
        "Skip = \"",
        "[ Ignore",
        "[ Explicit",
        "Assert.Ignore(",
        "Assert.Inconclusive(",
        "Ignore = \"",
    ],
    comment_skips: &[],
    asserts: &[
        "Assert*", "Should*", "Verify*", "Expect*", "Throws*", "Check*", "Ensure*", "Fail*(",
    ],
    hollow: &[
        "Assert.True( true",
        "Assert.IsTrue( true",
        "Assert.Equal( 1, 1",
        "Assert.Pass(",
    ],
    helpers: &["void $ ("],
};

pub(super) const RUBY: Language = Language {
    endings: &["rb"],
    starts: &["test_"],
    ends: &["_spec.rb", "_test.rb"],
    folders: &["spec", "test"],
    anywhere: false,
    syntax: hashed(&[line("\""), line("'")]),
    forms: &[
        Form::Named {
            pattern: "def $",
            starts: &["test_"],
        },
        Form::Titled {
            words: &[
                "it",
                "specify",
                "test",
                "example",
                "scenario",
                "fit",
                "xit",
                "xspecify",
                "xexample",
                "xscenario",
            ],
            groups: &[
                "describe",
                "context",
                "feature",
                "fdescribe",
                "xdescribe",
                "xcontext",
                "fcontext",
            ],
            skipped: &[
                "fit",
                "xit",
                "xspecify",
                "xexample",
                "xscenario",
                "fdescribe",
                "xdescribe",
                "xcontext",
                "fcontext",
            ],
            quoted: false,
        },
    ],
    body: Body::UntilNext,
    skips: &["skip", "pending", "omit", "focus: true", ":focus"],
    comment_skips: &[],
    asserts: &[
        "assert*",
        "refute*",
        "expect*",
        "should*",
        "must_*",
        "wont_*",
        "is_expected",
        "flunk",
        "check*",
        "verify*",
        "ensure_*",
    ],
    hollow: &[
        "assert true",
        "assert( true",
        "expect( true ).to",
        "assert_equal 1, 1",
    ],
    helpers: &["def $"],
};

pub(super) const ELIXIR: Language = Language {
    endings: &["exs"],
    starts: &[],
    ends: &["_test.exs"],
    folders: &[],
    anywhere: false,
    syntax: hashed(&[long("\"\"\""), line("\"")]),
    forms: &[Form::Titled {
        words: &["test", "property", "feature"],
        groups: &["describe"],
        skipped: &[],
        quoted: true,
    }],
    body: Body::UntilNext,
    skips: &[
        "@tag :skip",
        "@tag skip:",
        "@moduletag :skip",
        "@moduletag skip:",
        "@describetag :skip",
        "@describetag skip:",
    ],
    comment_skips: &[],
    asserts: &[
        "assert*", "refute*", "flunk", "check*", "verify*", "expect*",
    ],
    hollow: &["assert true", "assert 1 == 1"],
    helpers: &["defp $", "def $"],
};

pub(super) const PHP: Language = Language {
    endings: &["php"],
    starts: &[],
    ends: &["Test.php", "TestCase.php", "Cest.php"],
    folders: &["tests", "test", "Tests"],
    anywhere: false,
    syntax: Syntax {
        line_comments: &["//", "#"],
        ..curly(&[line("\""), line("'")])
    },
    forms: &[
        Form::Named {
            pattern: "function $",
            starts: &["test"],
        },
        Form::Marked {
            marks: &["#[ Test"],
            keyword: Some("function $"),
        },
        Form::Titled {
            words: &["it", "test"],
            groups: &["describe"],
            skipped: &[],
            quoted: true,
        },
    ],
    body: Body::Brackets,
    skips: &[
        "markTestSkipped(",
        "markTestIncomplete(",
        "} ) ->skip(",
        "} ) ->todo(",
        "} ) ->only(",
    ],
    comment_skips: &[],
    asserts: &[
        "assert*", "expect*", "should*", "see*(", "check*", "verify*", "fail(",
    ],
    hollow: &["assertTrue( true", "assertSame( 1, 1", "expect( true )->"],
    helpers: &["function $"],
};

pub(super) const SWIFT: Language = Language {
    endings: &["swift"],
    starts: &[],
    ends: &["Test.swift", "Tests.swift", "Spec.swift"],
    folders: &["Tests"],
    anywhere: false,
    syntax: Syntax {
        nested: true,
        ..curly(&[long("\"\"\""), line("\"")])
    },
    forms: &[
        Form::Named {
            pattern: "func $",
            starts: &["test"],
        },
        Form::Marked {
            marks: &["@Test"],
            keyword: Some("func $"),
        },
    ],
    body: Body::Brackets,
    skips: &["XCTSkip*", ".disabled(", "withKnownIssue"],
    comment_skips: &[],
    asserts: &[
        "XCTAssert*",
        "XCTFail",
        "XCTUnwrap",
        "#expect",
        "#require",
        "expect*",
        "assert*",
        "check*",
        "verify*",
    ],
    hollow: &["XCTAssertTrue( true", "XCTAssert( true"],
    helpers: &["func $"],
};

pub(super) const DART: Language = Language {
    endings: &["dart"],
    starts: &[],
    ends: &["_test.dart"],
    folders: &[],
    anywhere: false,
    syntax: curly(&[long("\"\"\""), long("'''"), line("\""), line("'")]),
    forms: &[Form::Titled {
        words: &["test", "testWidgets", "blocTest"],
        groups: &["group"],
        skipped: &[],
        quoted: false,
    }],
    body: Body::Brackets,
    skips: &["skip: true", "skip: '", "skip: \"", "@Skip", "solo: true"],
    comment_skips: &[],
    asserts: &["expect*", "verify*", "assert*", "check*", "fail("],
    hollow: &["expect( true, isTrue", "expect( true, true"],
    helpers: &["void $ ("],
};

pub(super) const CPP: Language = Language {
    endings: &["cc", "cpp", "cxx"],
    starts: &["test_"],
    ends: &[
        "_test.cc",
        "_test.cpp",
        "_tests.cpp",
        "_unittest.cc",
        "Test.cpp",
        "Tests.cpp",
    ],
    folders: &["test", "tests", "unittests"],
    anywhere: false,
    syntax: curly(&[line("\""), line("'")]),
    forms: &[Form::Titled {
        words: &[
            "TEST",
            "TEST_F",
            "TEST_P",
            "TYPED_TEST",
            "TEST_CASE",
            "SCENARIO",
            "BOOST_AUTO_TEST_CASE",
        ],
        groups: &[],
        skipped: &[],
        quoted: false,
    }],
    body: Body::Brackets,
    skips: &["GTEST_SKIP(", "DISABLED_*", "SKIP("],
    comment_skips: &[],
    asserts: &[
        "EXPECT_*", "ASSERT_*", "REQUIRE*", "CHECK*", "BOOST_*", "FAIL(", "assert*",
    ],
    hollow: &[
        "EXPECT_TRUE( true",
        "ASSERT_TRUE( true",
        "REQUIRE( true",
        "CHECK( true",
    ],
    helpers: &["void $ ("],
};

/// Functions `test…` as shUnit2 and small runners have them, and the tests of Bats.
pub(super) const SHELL: Language = Language {
    endings: &["sh", "bash", "bats"],
    starts: &["test_", "test-"],
    ends: &["_test.sh", "-test.sh", "_test.bash", ".bats"],
    folders: &["tests", "test", "spec"],
    anywhere: false,
    syntax: Syntax {
        is_spaced: true,
        ..hashed(&[long("\""), raw("'")])
    },
    forms: &[
        Form::Named {
            pattern: "$ ( )",
            starts: &["test"],
        },
        Form::Named {
            pattern: "function $",
            starts: &["test"],
        },
        Form::Titled {
            words: &["@test"],
            groups: &[],
            skipped: &[],
            quoted: true,
        },
    ],
    body: Body::Brackets,
    skips: &["skip", "startSkipping"],
    comment_skips: &[],
    asserts: &[
        "assert*", "refute*", "expect*", "check*", "verify*", "ensure*", "fail*", "[", "test",
        "grep", "diff", "cmp", "exit 1", "return 1",
    ],
    // The last ones are no checks at all, but hold the word.
    hollow: &["[ 1 -eq 1", "[ 1 = 1", "test 1 = 1", "@test"],
    helpers: &["$ ( )", "function $"],
};
