import Foundation
import Testing

/// A newer schema is looked at before a store is opened with it: what it would do, and what older apps see of it.
@Suite struct SchemaCheckTests {
  private let bench: Bench

  private static let old = """
    {"entities":[{"type":"List","fields":{"name":"text"}},
    {"type":"Item","fields":{"name":"text","note":"text","price":"real","done":{"kind":"bool","default":false}},
    "references":{"list":{"to":"List"}},"relationships":{"also":{"to":"List"}}},
    {"type":"Scrap","fields":{}}]}
    """

  init() throws {
    bench = try Bench()
    try bench.write(Self.old, to: "old.json")
    try bench.done("new", "a", "--schema", "old.json")
    try bench.done("put", "a", "Item|~|milk", "name=Milk", "price=1.25")
  }

  /// What the check says of a schema with these fields of `Item`, besides what stays of the others.
  private func check(_ fields: String, _ options: String...) throws -> [String] {
    try bench.write(
      """
      {"entities":[{"type":"List","fields":{"name":"text"}},{"type":"Scrap","fields":{}},
      {"type":"Item","fields":{\(fields)},"references":{"list":{"to":"List"}},
      "relationships":{"also":{"to":"List"}}}]}
      """, to: "new.json")
    let outcome = try bench.tally(["schema", "check", "a", "new.json"] + options)
    #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
    return outcome.lines
  }

  private static let same = #""name":"text","note":"text","price":"real","done":{"kind":"bool","default":false}"#
  private static let cents = #""cents":{"kind":"integer","from":{"field":"price","kind":"real","lens":{"scale":100}}}"#

  @Test func theSchemaOfTheFileChangesNothing() throws {
    #expect(try bench.done("schema", "check", "a", "old.json") == "nothing has to change\n")
    #expect(try bench.done("schema", "check", "a", "old.json", "--json") == "")
    #expect(try bench.done("schema", "check", "a", "-", input: Self.old) == "nothing has to change\n")
  }

  @Test func aFieldThatTakesThePlaceOfAnotherSaysWhatOlderAppsSee() throws {
    #expect(
      try check("\(Self.same),\(Self.cents)") == [
        "Item.cents  new field, integer, in the place of price, a real",
        "  it shows whichever of the two was written last, seen through the lens; nothing is sent",
        "  older apps see in price what is written to it; their own value stays where that has no counterpart",
      ])
  }

  @Test func olderAppsMayKeepTheirOwnValue() throws {
    let field = Self.cents.replacingOccurrences(of: #""lens""#, with: #""keepsOldApps":false,"lens""#)
    #expect(
      try check("\(Self.same),\(field)").last == "  older apps keep their own price until one of them writes it")
  }

  @Test func anOlderFieldThatIsLeftOutStaysInTheFile() throws {
    let lines = try check(#""name":"text","note":"text","done":{"kind":"bool","default":false},\#(Self.cents)"#)
    #expect(lines.suffix(2) == ["Item.price  stays in the file; cents takes its place", "  older apps go on with it"])
  }

  @Test func anOlderFieldThatTheFileLacksIsDeclaredByTheNewer() throws {
    let field = Self.cents.replacingOccurrences(of: "price", with: "cost")
    #expect(
      try check("\(Self.same),\(field)").suffix(2) == [
        "Item.cost  new field, real, declared by cents, which takes its place", "  older apps go on with it",
      ])
  }

  @Test func aNewFieldTellsTheDefaultThatRecordsOfOlderAppsHave() throws {
    #expect(
      try check("\(Self.same)," + #""amount":{"kind":"integer","default":1},"due":"date""#) == [
        "Item.amount  new field, integer", "  older apps keep it and pass it on unseen; their records have 1 in it",
        "Item.due  new field, date", "  older apps keep it and pass it on unseen; their records have null in it",
      ])
  }

  @Test func aRenamedFieldIsToldFromANewOne() throws {
    let fields = Self.same.replacingOccurrences(
      of: #""note":"text""#, with: #""remark":{"kind":"text","wireName":"note"}"#)
    #expect(
      try check(fields) == [
        "Item.remark  renamed from note", "  older apps go on under the name that they know",
      ])
    #expect(
      try check(Self.same.replacingOccurrences(of: "note", with: "remark")) == [
        "Item.remark  new field, text",
        "  if it is note under a new name, declare it with wireName (renamedFrom) note",
        "  older apps keep it and pass it on unseen; their records have null in it",
        "Item.note  no longer declared; its values stay in the file", "  older apps go on with it",
      ])
  }

  /// `Item.note` with a list of values, or without.
  private func listing(_ list: String) -> String {
    Self.same.replacingOccurrences(of: #""note":"text""#, with: #""note":{"kind":"text"\#(list)}"#)
  }

  @Test func aListOfValuesSaysWhatBecomesOfOthers() throws {
    #expect(
      try check(listing(#","oneOf":["new","old"]"#)) == [
        #"Item.note  one of "new", "old""#,
        "  records that have another value keep it, and an enum reads it as null", "  older apps write any text",
      ])
    try bench.done("schema", "upgrade", "a", "new.json")
    try bench.refused(65, ["put", "a", "Item|~|milk", "note=odd"], saying: "has a value that the schema does not list")
    try bench.done("put", "a", "Item|~|milk", "note=old")
    let older = "  older apps have what is new in the column and keep it, and an enum there reads it as null"
    #expect(
      try check(listing(#","oneOf":["new","done"],"unknown":"new""#)) == [
        #"Item.note  also "done", no longer "old""#,
        #"  records that have another value keep it, and an enum reads it as "new""#, older,
      ])
    #expect(
      try check(listing(#","oneOf":["new","old","done"]"#)) == [#"Item.note  also "done""#, older])
    #expect(
      try check(listing(#","oneOf":["new","old"],"unknown":"old""#)) == [
        #"Item.note  other values are read as "old""#, "  older apps go on with it",
      ])
    #expect(try check(Self.same) == ["Item.note  any text", older])
    #expect(
      try check(listing(#","oneOf":["new","old"]"#) + #","size":{"kind":"integer","default":1,"oneOf":[1,2]}"#) == [
        "Item.size  new field, integer, one of 1, 2",
        "  older apps keep it and pass it on unseen; their records have 1 in it",
      ])
  }

  @Test func aRenamedTypeIsToldFromANewOne() throws {
    try bench.write(Self.old.replacingOccurrences(of: #""Item""#, with: #""Thing""#), to: "new.json")
    #expect(
      try bench.done("schema", "check", "a", "new.json").split(separator: "\n").map(String.init) == [
        "Thing  new type", "  if it is Item under a new name, keep that as the type: rename the Swift type alone",
        "  older apps keep its records and pass them on unseen",
        "Item  no longer declared; its records stay in the file", "  older apps go on with it",
      ])
  }

  @Test func typesReferencesRelationshipsAndRulesAreCompared() throws {
    try bench.write(
      """
      {"entities":[{"type":"List","fields":{"name":"text"},"unique":[{"fields":["name"],"policy":"rename"}]},
      {"type":"Item","fields":{\(Self.same)},"deleteWins":true,
      "references":{"list":{"to":"List","onDelete":"cascade"},"shop":{"to":"Shop"}},
      "relationships":{"tags":{"to":"Shop"}}},{"type":"Shop","fields":{}}]}
      """, to: "new.json")
    let rule = "  devices show different rows for the same data until all have the new rule"
    #expect(
      try bench.done("schema", "check", "a", "new.json").split(separator: "\n").map(String.init) == [
        "List.name  unique, policy rename", rule,
        "Item.list  on delete cascade instead of nullify", rule,
        "Item.shop  new reference to Shop, on delete nullify",
        "  older apps keep it and pass it on unseen; their records have null in it",
        "Item.tags  new relationship to Shop", "  older apps keep its members and pass them on unseen",
        "Item  a delete beats concurrent edits", rule,
        "Shop  new type", "  older apps keep its records and pass them on unseen",
        "Item.also  no longer declared; its members stay in the file", "  older apps go on with it",
        "Scrap  no longer declared; its records stay in the file", "  older apps go on with it",
      ])
  }

  @Test func jsonIsALineForEachDifference() throws {
    let lines = try check("\(Self.same),\(Self.cents)", "--json")
    #expect(lines.count == 1)
    #expect(lines[0].hasPrefix(#"{"change":"newField","from":"price","name":"cents","notes":["it shows "#))
    #expect(lines[0].hasSuffix(#""text":"new field, integer, in the place of price, a real","type":"Item"}"#))
  }

  @Test func aLensIsDecidedWhenTheFieldIsDeclared() throws {
    #expect(try check("\(Self.same),\(Self.cents)").count == 3)
    try bench.done("schema", "upgrade", "a", "new.json")
    #expect(try bench.done("schema", "check", "a", "new.json") == "nothing has to change\n")
    #expect(
      try check(Self.same + #","cents":"integer""#) == [
        "nothing has to change", "Item.cents  takes the place of price as before: that cannot be taken back",
      ])
    try bench.write(
      #"{"entities":[{"type":"Item","fields":{\#(Self.cents.replacingOccurrences(of: "100", with: "1000"))}}]}"#,
      to: "other.json")
    for command in ["check", "upgrade"] {
      try bench.refused(
        65, ["schema", command, "a", "other.json"], saying: "Item.cents changes what it takes the place of")
    }
  }

  @Test(arguments: [
    (#""price":"integer""#, "Item.price changes its kind"),
    (#""name":{"kind":"text","from":{"field":"note","kind":"text","lens":"digits"}}"#, "Item.name"),
    (#""cents":{"kind":"integer","from":{"field":"price","kind":"real","lens":"digits"}}"#, "no such lens leads"),
    (#""cents":{"kind":"integer","from":{"field":"price","kind":"real","lens":{"scales":100}}}"#, "'scales'"),
    (#""cents":{"kind":"integer","from":{"field":"price","kind":"real","factor":100}}"#, "'factor'"),
    (
      #""score":{"kind":"counter","from":{"field":"price","kind":"real","lens":{"scale":1}}}"#,
      "a counter takes the place of no field"
    ),
    (#""name":{"kind":"text","oneOff":["a"]}"#, "'oneOff'"),
    (#""name":{"kind":"text","oneOf":["a","a"]}"#, "Item.name must list"),
    (#""name":{"kind":"text","unknown":"a"}"#, "Item.name has an unknown value"),
  ])
  func whatOpeningTheStoreRefusesIsRefused(_ fields: String, _ message: String) throws {
    try bench.write(#"{"entities":[{"type":"Item","fields":{\#(fields)}}]}"#, to: "new.json")
    try bench.unchanged("a") {
      for command in ["check", "upgrade"] {
        try bench.refused(65, ["schema", command, "a", "new.json"], saying: message)
      }
    }
  }

  @Test func theStoreIsAsItWas() throws {
    let schema = try bench.done("schema", "a")
    try bench.unchanged("a") {
      let lines = try check("\(Self.same),\(Self.cents)")
      #expect(!lines.isEmpty)
    }
    #expect(try bench.done("schema", "a") == schema)
  }

  @Test func whatIsMissingIsNotFound() throws {
    try bench.refused(66, ["schema", "check", "nothing", "old.json"])
    try bench.refused(66, ["schema", "check", "a", "nothing.json"])
    try bench.refused(64, ["schema", "check", "a"])
  }
}
