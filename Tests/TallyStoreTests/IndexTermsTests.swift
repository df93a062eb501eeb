import Testing

@testable import TallyStore

@Suite struct IndexTermsTests {
  @Test(arguments: [
    ("CREATE UNIQUE INDEX i ON t(lower(a))", ["lower(a)"]),
    ("CREATE UNIQUE INDEX \"o(dd\" ON [t(,](a, b DESC, c COLLATE NOCASE asc)", ["a", "b", "c COLLATE NOCASE"]),
    ("CREATE INDEX i ON t(coalesce(a, ',)'), \"x,\"\"y\") WHERE (a > 1)", ["coalesce(a, ',)')", "\"x,\"\"y\""]),
    ("CREATE INDEX i ON t(a /* ) */ + 1, -- , )\n (b))", ["a   + 1", "(b)"]),
    ("CREATE INDEX i ON t(a - -1, 'it''s' || a)", ["a - -1", "'it''s' || a"]),
    ("CREATE INDEX i ON t((b)desc, 'a  b' || a  DESC )", ["(b)", "'a  b' || a"]), ("", []),
    ("CREATE INDEX i ON t(a", []),
  ]) func termsAreReadAsTheyStand(_ sql: String, _ terms: [String]) {
    #expect(IndexTerms.parse(sql) == terms)
  }
}
