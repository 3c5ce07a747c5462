//! The same six stories in every language: removed, commented out, skipped, emptied; and renamed,
//! formatted again, added.

use pretty_assertions::assert_eq;

use super::*;

/// One test in a language, in the states it can be in.
struct Case {
    path: &'static str,
    /// What it is called.
    name: &'static str,
    /// As it was; another test comes before it.
    test: &'static str,
    other: &'static str,
    /// The same, not run any more.
    skipped: &'static [&'static str],
    /// The same, checking nothing any more.
    emptied: &'static [&'static str],
    /// The same, which must pass.
    fine: &'static [&'static str],
    /// What begins a line of comment.
    comment: &'static str,
}

impl Case {
    fn all(&self, test: &str) -> String {
        format!("{}\n{test}", self.other)
    }

    fn hold(&self) {
        let before = self.all(self.test);
        let check = |after: &str, want: Option<&str>| {
            let messages = messages_of(
                TamperCheck::Tests,
                &watch(),
                &[edited(self.path, &before, after)],
            );
            let want: Vec<String> = want.map(str::to_owned).into_iter().collect();
            assert_eq!(messages, want, "{}\n{after}", self.path);
        };
        let gone = format!("1 test deleted: `{}` (`{}`)", self.name, self.path);
        check(self.other, Some(&gone));
        let commented: Vec<String> = self
            .test
            .lines()
            .map(|line| format!("{} {line}", self.comment))
            .collect();
        check(&self.all(&commented.join("\n")), Some(&gone));
        let skip = format!("a marker that skips tests was added in `{}`", self.path);
        for skipped in self.skipped {
            check(&self.all(skipped), Some(&skip));
        }
        let weak = format!(
            "a test checks less than before: `{}` (`{}`)",
            self.name, self.path
        );
        for emptied in self.emptied {
            check(&self.all(emptied), Some(&weak));
        }
        for fine in self.fine {
            check(&self.all(fine), None);
        }
        check(&before, None);
        check(&format!("{before}\n"), None);
        // Reordered.
        check(&format!("{}\n{}", self.test, self.other), None);
        // A pure addition.
        let added = [added(self.path, &before)];
        assert_eq!(
            messages_of(TamperCheck::Tests, &watch(), &added),
            Vec::<String>::new()
        );
        // The whole file.
        let all = messages_of(TamperCheck::Tests, &watch(), &[deleted(self.path, &before)]);
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(
            all[0].starts_with("2 tests deleted with the file"),
            "{all:?}"
        );
    }
}

#[test]
fn rust() {
    Case {
        path: "src/lib.rs",
        name: "adds",
        other: "#[test]\nfn starts<'a>() {\n    let quote = '\"';\n    assert!(begin(quote));\n}\n",
        test: "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
        skipped: &[
            "#[test]\n#[ignore]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
            "#[test]\n#[ignore = \"slow\"]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
            "#[test]\n#[cfg_attr(unix, ignore)]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
        ],
        emptied: &[
            "#[test]\nfn adds() {\n    let _ = add(1, 2);\n}\n",
            "#[test]\nfn adds() {\n    assert!(true);\n}\n",
            "#[test]\nfn adds() {\n    // assert_eq!(add(1, 2), 3);\n}\n",
        ],
        fine: &[
            "#[test]\nfn adds_numbers() {\n    assert_eq!(add(1, 2), 3);\n}\n",
            "#[test]\nfn adds() { assert_eq!(add(1, 2), 3); }\n",
            "#[async_std::test]\nasync fn adds() {\n    assert_eq!(add(1, 2).await, 3);\n}\n",
            "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 4, \"#[ignore]\");\n}\n",
            "#[test]\nfn adds() {\n    check(add(1, 2), 3);\n}\n",
        ],
        comment: "//",
    }
    .hold();
}

#[test]
fn python() {
    Case {
        path: "tests/test_sum.py",
        name: "test_adds",
        other: "def test_start():\n    \"\"\"it's about\n    def test_no\n    \"\"\"\n    assert begin()\n",
        test: "def test_adds():\n    assert add(1, 2) == 3\n",
        skipped: &[
            "@pytest.mark.skip(reason='x')\ndef test_adds():\n    assert add(1, 2) == 3\n",
            "@pytest.mark.skipif(True, reason='x')\ndef test_adds():\n    assert add(1, 2) == 3\n",
            "@pytest.mark.xfail\ndef test_adds():\n    assert add(1, 2) == 3\n",
            "@unittest.skip('x')\ndef test_adds():\n    assert add(1, 2) == 3\n",
            "def test_adds():\n    pytest.skip('later')\n    assert add(1, 2) == 3\n",
        ],
        emptied: &[
            "def test_adds():\n    pass\n",
            "def test_adds():\n    assert True\n",
            "def test_adds():\n    add(1, 2)  # assert\n",
        ],
        fine: &[
            "def test_adds_numbers():\n    assert add(1, 2) == 3\n",
            "def test_adds():\n    assert (\n        add(1, 2) == 3\n    )\n",
            "def test_adds(\n    calc,\n):\n    assert calc.add(1, 2) == 3\n",
            "@pytest.mark.parametrize('a', [1, 2])\ndef test_adds(a):\n    assert add(a, 2) == a + 2\n",
        ],
        comment: "#",
    }
    .hold();
}

#[test]
fn python_conftest_may_not_hide_tests() {
    tests_say(
        &[edited(
            "conftest.py",
            "",
            "collect_ignore = ['tests/test_sum.py']\n",
        )],
        &["a marker that skips tests was added in `conftest.py`"],
    );
}

#[test]
fn javascript() {
    Case {
        path: "src/sum.test.ts",
        name: "adds numbers",
        other: "it('starts', () => {\n  expect(begin(`a ${b} it('no')`)).toBe(1);\n});\n",
        test: "it('adds numbers', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
        skipped: &[
            "it.skip('adds numbers', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
            "xit('adds numbers', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
            "it.only('adds numbers', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
            "describe.skip('sum', () => {\n  it('adds numbers', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n",
            "xdescribe('sum', () => {\n  it('adds numbers', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n",
            "it.concurrent.skip('adds numbers', async () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
            "test('adds numbers', () => {\n  test.skip();\n  expect(add(1, 2)).toBe(3);\n});\n",
        ],
        emptied: &[
            "it('adds numbers', () => {\n});\n",
            "it('adds numbers', () => {\n  expect(true).toBe(true);\n});\n",
            "it('adds numbers', () => {\n  // expect(add(1, 2)).toBe(3);\n  add(1, 2);\n});\n",
        ],
        fine: &[
            "it('sums numbers', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
            "test(\"adds numbers\", function () {\n  expect(add(1, 2)).toBe(3);\n});\n",
            "it('adds numbers', () => expect(add(1, 2)).toBe(3));\n",
            "describe('sum', () => {\n  it('adds numbers', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n",
            "it.each([[1, 2], [2, 3]])('adds numbers', (a, b) => {\n  expect(add(a, 2)).toBe(b);\n});\n",
            "it('adds numbers', () => {\n  expect(rows.skip(1)).toBe(3);\n});\n",
        ],
        comment: "//",
    }
    .hold();
    tests_say(
        &[edited("a.spec.js", "", "test.todo('adds');\n")],
        &["a marker that skips tests was added in `a.spec.js`"],
    );
}

#[test]
fn go() {
    Case {
        path: "pkg/sum_test.go",
        name: "TestAdds",
        other: "func TestStart(t *testing.T) {\n\tif Begin(`func TestNo(`) {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
        test: "func TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Errorf(\"no\")\n\t}\n}\n",
        skipped: &[
            "func TestAdds(t *testing.T) {\n\tt.Skip(\"later\")\n\tif Add(1, 2) != 3 {\n\t\tt.Errorf(\"no\")\n\t}\n}\n",
            "func TestAdds(t *testing.T) {\n\tt.SkipNow()\n\tif Add(1, 2) != 3 {\n\t\tt.Errorf(\"no\")\n\t}\n}\n",
            "//go:build ignore\nfunc TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Errorf(\"no\")\n\t}\n}\n",
        ],
        emptied: &["func TestAdds(t *testing.T) {\n\tAdd(1, 2)\n}\n"],
        fine: &[
            "func TestAddition(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Errorf(\"no\")\n\t}\n}\n",
            "func TestAdds(t *testing.T) {\n\trequire.Equal(t, 3, Add(1, 2))\n}\n",
            "func (s *Suite) TestAdds() {\n\ts.Equal(3, Add(1, 2))\n}\n",
        ],
        comment: "//",
    }
    .hold();
}

#[test]
fn java() {
    Case {
        path: "src/test/java/SumTest.java",
        name: "adds",
        other: "@Test\nvoid starts() {\n    assertTrue(begin('\"'));\n}\n",
        test: "@Test\nvoid adds() {\n    assertEquals(3, add(1, 2));\n}\n",
        skipped: &[
            "@Test\n@Disabled(\"later\")\nvoid adds() {\n    assertEquals(3, add(1, 2));\n}\n",
            "@Ignore\n@Test\npublic void adds() {\n    assertEquals(3, add(1, 2));\n}\n",
            "@Test(enabled = false)\npublic void adds() {\n    assertEquals(3, add(1, 2));\n}\n",
        ],
        emptied: &[
            "@Test\nvoid adds() {\n    add(1, 2);\n}\n",
            "@Test\nvoid adds() {\n    assertTrue(true);\n}\n",
            "@Test\nvoid adds() {\n    Assertions.assertEquals(1, 1);\n}\n",
        ],
        fine: &[
            "@Test\nvoid addsNumbers() {\n    assertEquals(3, add(1, 2));\n}\n",
            "@Test @DisplayName(\"adds (two)\")\npublic void adds() throws Exception {\n    assertThat(add(1, 2)).isEqualTo(3);\n}\n",
            "@ParameterizedTest\n@ValueSource(ints = {1, 2})\nvoid adds(int a) {\n    assertEquals(a + 2, add(a, 2));\n}\n",
        ],
        comment: "//",
    }
    .hold();
}

#[test]
fn kotlin() {
    Case {
        path: "src/test/kotlin/SumSpec.kt",
        name: "`adds two numbers`",
        other: "@Test\nfun starts() {\n    assertTrue(begin())\n}\n",
        test: "@Test\nfun `adds two numbers`() {\n    assertEquals(3, add(1, 2))\n}\n",
        skipped: &[
            "@Disabled\n@Test\nfun `adds two numbers`() {\n    assertEquals(3, add(1, 2))\n}\n",
        ],
        emptied: &["@Test\nfun `adds two numbers`() {\n    add(1, 2)\n}\n"],
        fine: &[
            "@Test\nfun `adds two numbers`() = runTest {\n    add(1, 2) shouldBe 3\n}\n",
            "@Test\nfun `adds numbers`() {\n    assertEquals(3, add(1, 2))\n}\n",
        ],
        comment: "//",
    }
    .hold();
    Case {
        path: "src/test/kotlin/SumSpec.kt",
        name: "adds",
        other: "test(\"starts\") {\n    begin() shouldBe 1\n}\n",
        test: "test(\"adds\") {\n    add(1, 2) shouldBe 3\n}\n",
        skipped: &["xtest(\"adds\") {\n    add(1, 2) shouldBe 3\n}\n"],
        emptied: &["test(\"adds\") {\n    add(1, 2)\n}\n"],
        fine: &["test(\"adds numbers\") {\n    add(1, 2) shouldBe 3\n}\n"],
        comment: "//",
    }
    .hold();
}

#[test]
fn csharp() {
    Case {
        path: "Sum.Tests/SumTests.cs",
        name: "Adds",
        other: "[Fact]\npublic void Starts()\n{\n    Assert.True(Begin());\n}\n",
        test: "[Fact]\npublic void Adds()\n{\n    Assert.Equal(3, Add(1, 2));\n}\n",
        skipped: &[
            "[Fact(Skip = \"later\")]\npublic void Adds()\n{\n    Assert.Equal(3, Add(1, 2));\n}\n",
            "[Test]\n[Ignore(\"later\")]\npublic void Adds()\n{\n    Assert.Equal(3, Add(1, 2));\n}\n",
        ],
        emptied: &[
            "[Fact]\npublic void Adds()\n{\n    Add(1, 2);\n}\n",
            "[Fact]\npublic void Adds()\n{\n    Assert.True(true);\n}\n",
        ],
        fine: &[
            "[Theory]\n[InlineData(1, 2)]\npublic async Task Adds(int a, int b)\n{\n    Assert.Equal(3, Add(a, b));\n}\n",
            "[TestMethod]\npublic void AddsNumbers()\n{\n    Assert.Equal(3, Add(1, 2));\n}\n",
            "[Fact]\npublic void Adds()\n{\n    Assert.Equal(3, Add(new Page { Skip = 2 }, 1, 2));\n}\n",
        ],
        comment: "//",
    }
    .hold();
}

#[test]
fn ruby() {
    Case {
        path: "spec/sum_spec.rb",
        name: "adds",
        other: "it 'starts' do\n  expect(begin).to eq(1)\nend\n",
        test: "it 'adds' do\n  expect(add(1, 2)).to eq(3)\nend\n",
        skipped: &[
            "xit 'adds' do\n  expect(add(1, 2)).to eq(3)\nend\n",
            "it 'adds', skip: true do\n  expect(add(1, 2)).to eq(3)\nend\n",
            "it 'adds' do\n  skip 'later'\n  expect(add(1, 2)).to eq(3)\nend\n",
            "it 'adds' do\n  pending\n  expect(add(1, 2)).to eq(3)\nend\n",
        ],
        emptied: &[
            "it 'adds' do\n  add(1, 2)\nend\n",
            "it 'adds' do\n  expect(true).to be true\nend\n",
        ],
        fine: &[
            "it 'adds numbers' do\n  expect(add(1, 2)).to eq(3)\nend\n",
            "it \"adds\" do\n  expect(add(1, 2)).to eq(3) # skip nothing\nend\n",
        ],
        comment: "#",
    }
    .hold();
    Case {
        path: "test/sum_test.rb",
        name: "test_adds",
        other: "def test_start\n  assert begin\nend\n",
        test: "def test_adds\n  assert_equal 3, add(1, 2)\nend\n",
        skipped: &["def test_adds\n  skip\n  assert_equal 3, add(1, 2)\nend\n"],
        emptied: &["def test_adds\n  add(1, 2)\nend\n"],
        fine: &["def test_adds\n  _(add(1, 2)).must_equal 3\nend\n"],
        comment: "#",
    }
    .hold();
}

#[test]
fn elixir() {
    Case {
        path: "test/sum_test.exs",
        name: "adds",
        other: "test \"starts\" do\n  assert begin()\nend\n",
        test: "test \"adds\" do\n  assert add(1, 2) == 3\nend\n",
        skipped: &[
            "@tag :skip\ntest \"adds\" do\n  assert add(1, 2) == 3\nend\n",
            "@moduletag :skip\ntest \"adds\" do\n  assert add(1, 2) == 3\nend\n",
            "@tag skip: \"later\"\ntest \"adds\" do\n  assert add(1, 2) == 3\nend\n",
        ],
        emptied: &[
            "test \"adds\" do\n  add(1, 2)\nend\n",
            "test \"adds\" do\n  assert true\nend\n",
        ],
        fine: &[
            "test \"adds\", %{a: a} do\n  assert add(a, 2) == 3\nend\n",
            "describe \"sum\" do\n  test \"adds\" do\n    assert add(1, 2) == 3\n  end\nend\n",
        ],
        comment: "#",
    }
    .hold();
}

#[test]
fn php() {
    Case {
        path: "tests/SumTest.php",
        name: "testAdds",
        other: "public function testStarts(): void {\n    $this->assertTrue(begin());\n}\n",
        test: "public function testAdds(): void {\n    $this->assertSame(3, add(1, 2));\n}\n",
        skipped: &[
            "public function testAdds(): void {\n    $this->markTestSkipped('x');\n    $this->assertSame(3, add(1, 2));\n}\n",
            "public function testAdds(): void {\n    $this->markTestIncomplete();\n    $this->assertSame(3, add(1, 2));\n}\n",
        ],
        emptied: &[
            "public function testAdds(): void {\n    add(1, 2);\n}\n",
            "public function testAdds(): void {\n    $this->assertTrue(true);\n}\n",
        ],
        fine: &[
            "#[DataProvider('sums')]\npublic function testAdds(int $a): void {\n    $this->assertSame(3, add($a, 2));\n}\n",
            "public function testAddsNumbers(): void {\n    $this->assertSame(3, add(1, 2));\n}\n",
        ],
        comment: "//",
    }
    .hold();
    Case {
        path: "tests/sum.php",
        name: "adds",
        other: "it('starts', function () {\n    expect(begin())->toBe(1);\n});\n",
        test: "it('adds', function () {\n    expect(add(1, 2))->toBe(3);\n});\n",
        skipped: &["it('adds', function () {\n    expect(add(1, 2))->toBe(3);\n})->skip();\n"],
        emptied: &["it('adds', function () {\n    add(1, 2);\n});\n"],
        fine: &[
            "test('adds', function () {\n    expect(rows()->skip(1), add(1, 2))->toBe(3);\n});\n",
        ],
        comment: "//",
    }
    .hold();
}

#[test]
fn swift() {
    Case {
        path: "Tests/SumTests.swift",
        name: "testAdds",
        other: "func testStarts() {\n    XCTAssertTrue(begin())\n}\n",
        test: "func testAdds() {\n    XCTAssertEqual(add(1, 2), 3)\n}\n",
        skipped: &["func testAdds() throws {\n    throw XCTSkip(\"x\")\n    XCTAssertEqual(add(1, 2), 3)\n}\n"],
        emptied: &["func testAdds() {\n    _ = add(1, 2)\n}\n"],
        fine: &["func testAddition() {\n    XCTAssertEqual(add(1, 2), 3)\n}\n"],
        comment: "//",
    }
    .hold();
}

#[test]
fn dart() {
    Case {
        path: "test/sum_test.dart",
        name: "adds",
        other: "test('starts', () {\n  expect(begin(), 1);\n});\n",
        test: "test('adds', () {\n  expect(add(1, 2), 3);\n});\n",
        skipped: &["test('adds', () {\n  expect(add(1, 2), 3);\n}, skip: true);\n"],
        emptied: &["test('adds', () {\n  add(1, 2);\n});\n"],
        fine: &["test('sums', () {\n  expect(add(1, 2), 3);\n});\n"],
        comment: "//",
    }
    .hold();
}

#[test]
fn cpp() {
    Case {
        path: "test/sum_test.cc",
        name: "Sum, Adds",
        other: "TEST(Sum, Starts) {\n  EXPECT_TRUE(begin());\n}\n",
        test: "TEST(Sum, Adds) {\n  EXPECT_EQ(add(1, 2), 3);\n}\n",
        skipped: &["TEST(Sum, Adds) {\n  GTEST_SKIP();\n  EXPECT_EQ(add(1, 2), 3);\n}\n"],
        emptied: &["TEST(Sum, Adds) {\n  add(1, 2);\n}\n"],
        fine: &["TEST_F(Sum, Adds) {\n  ASSERT_EQ(add(1, 2), 3);\n}\n"],
        comment: "//",
    }
    .hold();
}

#[test]
fn shell() {
    Case {
        path: "tests/test_sum.sh",
        name: "test_adds",
        other: "test_starts() {\n    assert_equal \"$(begin)\" ${1#it} # it's\n}\n",
        test: "test_adds() {\n    assert_equal \"$(add 1 2)\" 3\n    [ $# = 0 ]\n}\n",
        skipped: &[
            "test_adds() {\n    skip later\n    assert_equal \"$(add 1 2)\" 3\n    [ $# = 0 ]\n}\n",
            "test_adds() {\n    startSkipping\n    assert_equal \"$(add 1 2)\" 3\n    [ $# = 0 ]\n}\n",
        ],
        emptied: &[
            "test_adds() {\n    :\n}\n",
            "test_adds() {\n    [ 1 = 1 ]\n}\n",
            "test_adds() {\n    add 1 2 # assert_equal\n}\n",
        ],
        fine: &[
            "test_addition() {\n    assert_equal \"$(add 1 2)\" 3\n    [ $# = 0 ]\n}\n",
            "function test_adds {\n    assert_equal \"$(add 1 2)\" 3\n    [ $# = 0 ]\n}\n",
            "test_adds () {\n    test \"$(add 1 2)\" = 3\n    [ $# = 0 ] # skip\n}\n",
        ],
        comment: "#",
    }
    .hold();
    Case {
        path: "spec/sum.bats",
        name: "adds",
        other: "@test \"starts\" {\n  begin | grep -q now\n}\n",
        test: "@test \"adds\" {\n  run add 1 2\n  [ \"$output\" = 3 ]\n}\n",
        skipped: &["@test \"adds\" {\n  skip\n  run add 1 2\n  [ \"$output\" = 3 ]\n}\n"],
        emptied: &["@test \"adds\" {\n  run add 1 2\n}\n"],
        fine: &["@test \"sums\" {\n  run add 1 2\n  [[ \"$output\" == 3 ]]\n}\n"],
        comment: "#",
    }
    .hold();
}

#[track_caller]
fn emptied_says(path: &str, before: &str, after: &str, name: &str) {
    let want = format!("a test checks less than before: `{name}` (`{path}`)");
    tests_say(&[edited(path, before, after)], &[&want]);
}

#[test]
fn the_name_of_a_test_is_no_assertion() {
    emptied_says(
        "src/test/java/SumTest.java",
        "@Test\nvoid shouldAdd() {\n    assertEquals(3, add(1, 2));\n}\n",
        "@Test\nvoid shouldAdd() {\n    add(1, 2);\n}\n",
        "shouldAdd",
    );
}

#[test]
fn a_string_of_several_lines_does_not_end_a_test() {
    let test = |check: &str| {
        format!("def test_adds():\n    \"\"\"Adds.\n\nTwo numbers.\n\"\"\"\n    {check}\n")
    };
    emptied_says(
        "tests/test_sum.py",
        &test("assert add(1, 2) == 3"),
        &test("add(1, 2)"),
        "test_adds",
    );
}

#[test]
fn arguments_do_not_make_an_assertion_hollow() {
    tests_say(
        &[edited(
            "tests/a.rs",
            "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
            "#[test]\nfn adds() {\n    assert_sum(1);\n    assert!(true == add(1, 2));\n}\n",
        )],
        &[],
    );
}
