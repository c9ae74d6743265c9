"""Modules are joined in the order of their imports, and what cannot be joined is an error and not a broken page."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.views.page.assemble import embedded_json, join_modules, page_script


def test_a_module_comes_after_those_it_imports_and_once():
    modules = {
        "main.js": 'import { b } from "./b.js";\nimport { a } from "./a.js";\nb(a);\n',
        "b.js": 'import { a } from "./a.js";\nexport function b() {\n  return a;\n}\nexport const c = 1;\n',
        "a.js": "export const a = 1;\nexport class D {}\nexport async function e() {}\n",
        "unused.js": "export const never = 1;\n",
    }
    script = join_modules(modules, "main.js")
    assert script.index("const module_a ") < script.index("const module_b ") < script.index("const module_main ")
    assert script.count("const module_a ") == 1
    assert "return { a, D, e };" in script
    assert "return { b, c };" in script
    assert "const { a } = module_a;" in script
    assert "never" not in script
    assert "import" not in script
    assert "export" not in script


def test_paths_are_relative_to_the_folder_of_the_module():
    modules = {
        "main.js": 'import { b } from "./views/long-name.js";\nb();\n',
        "views/long-name.js": 'import {\n  a,\n  c,\n} from "../data/a.js";\nimport { d } from "./d.js";\n'
        "export const b = () => a + c + d;\n",
        "views/d.js": "export const d = 1;\n",
        "data/a.js": "export const a = 1;\nexport const c = 1;\n",
    }
    script = join_modules(modules, "main.js")
    assert "const { a, c } = module_data_a;" in script
    assert "const { d } = module_views_d;" in script
    assert "const { b } = module_views_long_name;" in script


def test_documentation_stays_out_of_the_page():
    source = "/** About. */\n\n/**\n * @param {number} a\n */\nfunction b(a) {\n  /** @type {number} */ (a).c();\n}\n"
    script = join_modules({"main.js": source}, "main.js")
    assert "About" not in script
    assert "@param" not in script
    assert "function b(a) {\n  /** @type {number} */ (a).c();\n}\n" in script


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({"main.js": 'import { a } from "./a.js";\n', "a.js": 'import { b } from "./main.js";\n'}, "import each other"),
        ({"main.js": 'import { a } from "./a.js";\n'}, "does not exist"),
        ({"main.js": 'import a from "./a.js";\n', "a.js": ""}, "not supported"),
        ({"main.js": "export default 1;\n"}, "not supported"),
        ({"main.js": "const a = 1;\nexport { a };\n"}, "not supported"),
    ],
)
def test_what_cannot_be_joined_is_refused(modules, message):
    with pytest.raises(ValueError, match=message):
        join_modules(modules, "main.js")


def test_the_pages_own_script_cannot_end_its_element():
    assert "</script" not in page_script().lower()
    assert "<!--" not in page_script()


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=5), st.text("<>&/a\"'\\\u2028\u2029\U0001f600", max_size=20), max_size=3))
def test_embedded_json_means_the_same(value):
    text = embedded_json({"value": value})
    assert json.loads(text) == {"value": value}
    assert not set("<>&\u2028\u2029") & set(text)
