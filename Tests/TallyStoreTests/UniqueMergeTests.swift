import Foundation
import GRDB
import Tally
import TallyRig
import TallySchema
import TallyStore
import TallyTesting
import Testing

/// Records that devices made independently of each other, with one name, become one: what refers to them, what they
/// own, and what somebody does to them meanwhile.
@Suite struct UniqueMergeTests {
  static let schema = Schema([
    EntitySchema(
      "Tag", unique: [.on("name", .merge)], .text("name"), .text("color"), .text("note"),
      .reference("parent", to: "Tag"), .toMany("related", to: "Tag")),
    EntitySchema("Note", .text("text"), .reference("tag", to: "Tag"), .toMany("tags", to: "Tag")),
    EntitySchema("Icon", .text("file"), .reference("tag", to: "Tag", onDelete: .cascade)),
  ])
  static let seed = SeedSet("tags", version: 1, records: [SeedRecord("work", type: "Tag", ["name": "Work"])])

  private func tags(_ store: Store) throws -> [String] {
    try store.read { try String.fetchAll($0, sql: "SELECT id || ' ' || ifnull(name, '-') FROM Tag ORDER BY id") }
  }

  private func one(_ store: Store, _ sql: String) throws -> String? {
    try store.read { try String.fetchOne($0, sql: sql) }
  }

  private func merged(_ names: [String: String]) throws -> [AnyRecordName: AnyRecordName] {
    try Dictionary(uniqueKeysWithValues: names.map { (try AnyRecordName($0), try AnyRecordName($1)) })
  }

  private func expectEqual(_ lab: Lab, sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    try lab.expectEqual(
      ["Tag", "Note", "Icon", "Note_tags", "Tag_related", "tally_unique"], sourceLocation: sourceLocation)
    for store in [lab.a, lab.b] {
      #expect(try store.verify().problems == [], sourceLocation: sourceLocation)
    }
  }

  /// Both make the tag, with all that refers to it, and meet.
  private func twoTags(_ path: CapturePath) throws -> Lab {
    let lab = try Lab(path, Self.schema)
    try lab.a.run(
      "INSERT INTO Tag(id, name) VALUES('Tag|~|a', 'Work')",
      "INSERT INTO Note(id, text, tag) VALUES('Note|~|a', 'x', 'Tag|~|a')")
    try lab.b.run(
      "INSERT INTO Tag(id, name, color) VALUES('Tag|~|b', 'Work', 'red')",
      "INSERT INTO Note(id, text, tag) VALUES('Note|~|b', 'y', 'Tag|~|b')",
      "INSERT INTO Note_tags(source, target) VALUES('Note|~|b', 'Tag|~|b')",
      "INSERT INTO Icon(id, file, tag) VALUES('Icon|~|b', 'f', 'Tag|~|b')")
    try lab.sync()
    #expect(try tags(lab.a).count == 2)
    return lab
  }

  // MARK: One record

  /// Its first life gave way to another record than its second.
  @Test(arguments: CapturePath.allCases) func aRecordThatIsInsertedAgainGivesWayAgain(_ path: CapturePath) throws {
    let lab = try twoTags(path)
    try lab.a.mergeDuplicates()
    try lab.sync()
    try lab.b.run(
      "INSERT INTO Tag(id, name) VALUES('Tag|~|b', 'Home')", "UPDATE Note SET tag = 'Tag|~|b' WHERE id = 'Note|~|b'")
    try lab.a.run("INSERT INTO Tag(id, name) VALUES('Tag|~|aa', 'Home')")
    try lab.sync()
    #expect(try one(lab.a, "SELECT group_concat(tag) FROM Note") == "Tag|~|a,Tag|~|b")
    #expect(try lab.a.mergeDuplicates().merged == merged(["Tag|~|b": "Tag|~|aa"]))
    #expect(try one(lab.a, "SELECT group_concat(tag) FROM Note") == "Tag|~|a,Tag|~|aa")
    try lab.sync()
    try expectEqual(lab)
    #expect(try lab.b.mergeDuplicates().isEmpty)
  }

  /// The device that merges it again has a clock that is behind that of the first merge.
  @Test(arguments: CapturePath.allCases) func theSecondMergeOfARecordPrevails(_ path: CapturePath) throws {
    let lab = try twoTags(path)
    var behind = Lab.options(path)
    let now = behind.now
    behind.now = { now().addingTimeInterval(-3600) }
    let slow = try lab.scratch.store("slow", schema: Self.schema, options: behind)
    try lab.a.mergeDuplicates()
    try lab.sync()
    try lab.a.run("INSERT INTO Tag(id, name) VALUES('Tag|~|aa', 'Home')")
    try lab.b.run(
      "INSERT INTO Tag(id, name) VALUES('Tag|~|b', 'Home')", "UPDATE Note SET tag = 'Tag|~|b' WHERE id = 'Note|~|b'")
    try lab.sync()
    try slow.sync(with: lab.b)
    #expect(try slow.mergeDuplicates().merged == merged(["Tag|~|b": "Tag|~|aa"]))
    #expect(try one(slow, "SELECT tag FROM Note WHERE id = 'Note|~|b'") == "Tag|~|aa")
    try slow.sync(with: lab.a)
    try lab.sync()
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func twoTagsBecomeOneWithAllThatRefersToThem(_ path: CapturePath) throws {
    let lab = try twoTags(path)
    let report = try lab.a.mergeDuplicates()
    #expect(try report.merged == merged(["Tag|~|b": "Tag|~|a"]) && report.restored == [])
    #expect(try lab.a.mergeDuplicates().isEmpty)
    for store in [lab.a, lab.b] {
      try lab.sync()
      #expect(try tags(store) == ["Tag|~|a Work"])
      #expect(try one(store, "SELECT group_concat(tag) FROM Note") == "Tag|~|a,Tag|~|a")
      #expect(try one(store, "SELECT target FROM Note_tags") == "Tag|~|a")
      #expect(try one(store, "SELECT tag FROM Icon") == "Tag|~|a")
      #expect(try one(store, "SELECT color FROM Tag") == "red")
      #expect(try store.read { try ContestedValue.fetchCount($0) } == 0)
      #expect(try store.mergeDuplicates().isEmpty)
    }
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func whatBothHaveIsThatOfTheOneThatStays(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Tag(id, name, color) VALUES('Tag|~|a', 'Work', 'blue')")
    try lab.b.run("INSERT INTO Tag(id, name, color, note) VALUES('Tag|~|b', 'Work', 'red', 'n')")
    try lab.sync()
    try lab.b.mergeDuplicates()
    try lab.sync()
    #expect(try one(lab.a, "SELECT color || note FROM Tag") == "bluen")
    try expectEqual(lab)
    // What the other one had is there as long as anything that was deleted.
    try lab.a.restore(try AnyRecordName("Tag|~|b"))
    #expect(try one(lab.a, "SELECT color FROM Tag WHERE id = 'Tag|~|b'") == "red")
    try lab.sync()
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func bothMayMergeAtOnce(_ path: CapturePath) throws {
    let lab = try twoTags(path)
    #expect(try lab.a.mergeDuplicates() == lab.b.mergeDuplicates())
    try lab.sync()
    #expect(try tags(lab.a) == ["Tag|~|a Work"])
    #expect(try one(lab.b, "SELECT color FROM Tag") == "red")
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func aSeedStaysWhateverItsName(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run(
      "INSERT INTO Tag(id, name, color) VALUES('Tag|~|0', 'Work', 'red')",
      "INSERT INTO Note(id, tag) VALUES('Note|~|a', 'Tag|~|0')")
    try lab.b.seed(Self.seed)
    try lab.sync()
    try lab.a.mergeDuplicates()
    try lab.sync()
    let name = SeedIdentity.uuid(ofKey: "work", set: "tags").uuidString.lowercased()
    #expect(try tags(lab.b) == ["Tag|~|\(name) Work"])
    #expect(try one(lab.b, "SELECT tag FROM Note") == "Tag|~|\(name)")
    #expect(try one(lab.a, "SELECT color FROM Tag") == "red")
    try expectEqual(lab)
  }

  // MARK: Meanwhile

  @Test(arguments: CapturePath.allCases) func mergesOfThreeOnTwoDevicesChain(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    let c = try lab.scratch.store("c", schema: Self.schema, options: Lab.options(path))
    try lab.a.run("INSERT INTO Tag(id, name) VALUES('Tag|~|a', 'Work')")
    try lab.b.run("INSERT INTO Tag(id, name) VALUES('Tag|~|b', 'Work')")
    try c.run(
      "INSERT INTO Tag(id, name) VALUES('Tag|~|c', 'Work')", "INSERT INTO Note(id, tag) VALUES('Note|~|c', 'Tag|~|c')",
      "INSERT INTO Icon(id, tag) VALUES('Icon|~|c', 'Tag|~|c')",
      "INSERT INTO Note_tags(source, target) VALUES('Note|~|c', 'Tag|~|c')")
    // One knows a and b, the other b and c.
    try c.apply(try lab.b.delta())
    try lab.a.apply(try lab.b.delta())
    #expect(try lab.a.mergeDuplicates().merged == merged(["Tag|~|b": "Tag|~|a"]))
    #expect(try c.mergeDuplicates().merged == merged(["Tag|~|c": "Tag|~|b"]))
    for _ in 0..<2 {
      for (to, from) in [(lab.a, c), (c, lab.a), (lab.b, lab.a)] { try to.apply(try from.delta(since: to.vector)) }
      for store in [lab.a, lab.b, c] {
        #expect(try tags(store) == ["Tag|~|a Work"])
        #expect(try one(store, "SELECT tag FROM Note") == "Tag|~|a")
        #expect(try one(store, "SELECT tag FROM Icon") == "Tag|~|a")
        #expect(try store.verify().problems == [])
      }
      // The member that came to b meanwhile is a's from then on.
      try lab.a.mergeDuplicates()
    }
    #expect(try one(c, "SELECT target FROM Note_tags") == "Tag|~|a")
    try lab.a.run("DELETE FROM Tag")
    try c.apply(try lab.a.delta(since: c.vector))
    #expect(try tags(c) == [] && one(c, "SELECT id FROM Icon") == nil && one(c, "SELECT tag FROM Note") == nil)
    #expect(try c.verify().problems == [] && c.mergeDuplicates().isEmpty)
  }

  @Test(arguments: CapturePath.allCases) func whatSomebodyEditsMeanwhileStaysUntilTheNextTime(_ path: CapturePath)
    throws
  {
    let lab = try twoTags(path)
    try lab.a.mergeDuplicates()
    try lab.b.run("UPDATE Tag SET color = 'green' WHERE id = 'Tag|~|b'")
    try lab.sync()
    #expect(try tags(lab.a).count == 2)
    #expect(try one(lab.a, "SELECT tag FROM Note WHERE id = 'Note|~|b'") == "Tag|~|b")
    try expectEqual(lab)
    try lab.b.mergeDuplicates()
    try lab.sync()
    #expect(try tags(lab.a) == ["Tag|~|a Work"])
    #expect(try one(lab.a, "SELECT color FROM Tag") == "green")
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func aDeleteThatDidNotKnowOfTheMergeTakesOnlyItsOwn(_ path: CapturePath) throws
  {
    let lab = try twoTags(path)
    try lab.a.mergeDuplicates()
    try lab.b.run("DELETE FROM Tag WHERE id = 'Tag|~|a'")
    try lab.sync()
    let report = try lab.b.mergeDuplicates()
    #expect(try report.restored == [AnyRecordName("Tag|~|b")] && report.merged.isEmpty)
    try lab.sync()
    #expect(try tags(lab.a) == ["Tag|~|b Work"])
    #expect(try one(lab.a, "SELECT tag FROM Note WHERE id = 'Note|~|b'") == "Tag|~|b")
    #expect(try lab.a.mergeDuplicates().isEmpty)
    try expectEqual(lab)
  }

  /// The remaining record had been deleted before, and was there because of what it owned.
  @Test(arguments: CapturePath.allCases) func aRecordReturnsWhenWhatKeptTheOtherIsGone(_ path: CapturePath) throws {
    let lab = try twoTags(path)
    try lab.b.run("DELETE FROM Tag WHERE id = 'Tag|~|a'")
    try lab.a.run("INSERT INTO Icon(id, file, tag) VALUES('Icon|~|a', 'g', 'Tag|~|a')")
    try lab.sync()
    #expect(try tags(lab.b).count == 2)
    #expect(try lab.b.mergeDuplicates().merged == merged(["Tag|~|b": "Tag|~|a"]))
    try lab.b.run("DELETE FROM Icon")
    try lab.sync()
    #expect(try tags(lab.a) == [])
    #expect(try lab.a.mergeDuplicates().restored == [AnyRecordName("Tag|~|b")])
    #expect(try tags(lab.a) == ["Tag|~|b Work"])
    try lab.sync()
    try expectEqual(lab)
  }

  /// A delete of the record itself that had been undone by then, by something else than a field.
  @Test(arguments: [
    "INSERT INTO Tag_related(source, target) VALUES('Tag|~|b', 'Tag|~|a')",
    "INSERT INTO Icon(id, file, tag) VALUES('Icon|~|c', 'g', 'Tag|~|b')",
  ]) func aDeleteThatWasUndoneDoesNotCountAfterAMerge(_ edit: String) throws {
    let lab = try twoTags(.hook)
    try lab.a.run("DELETE FROM Tag WHERE id = 'Tag|~|b'")
    try lab.b.run(edit)
    try lab.a.apply(lab.b.delta(since: lab.a.vector))
    #expect(try tags(lab.a).count == 2)
    #expect(try lab.b.mergeDuplicates().merged == merged(["Tag|~|b": "Tag|~|a"]))
    try lab.a.run("DELETE FROM Tag WHERE id = 'Tag|~|a'")
    try lab.sync()
    #expect(try lab.a.mergeDuplicates().restored == [AnyRecordName("Tag|~|b")])
    #expect(try tags(lab.a) == ["Tag|~|b Work"])
    try lab.sync()
    #expect(try lab.b.mergeDuplicates().isEmpty)
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func whatIsDeletedAfterTheMergeStaysDeleted(_ path: CapturePath) throws {
    let lab = try twoTags(path)
    try lab.a.mergeDuplicates()
    try lab.sync()
    try lab.b.run("DELETE FROM Tag")
    #expect(try lab.b.mergeDuplicates().isEmpty)
    try lab.sync()
    #expect(try lab.a.mergeDuplicates().isEmpty)
    #expect(try tags(lab.a) == [] && one(lab.a, "SELECT tag FROM Note WHERE id = 'Note|~|b'") == nil)
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func aSeedThatIsWithdrawnTakesNobodyAlong(_ path: CapturePath) throws {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Tag(id, name, color) VALUES('Tag|~|0', 'Work', 'red')")
    try lab.a.seed(Self.seed)
    try lab.a.mergeDuplicates()
    #expect(try tags(lab.a).count == 1)
    try lab.a.seed(SeedSet("tags", version: 2, records: [], retired: [SeedKey("work", type: "Tag")]))
    let report = try lab.a.mergeDuplicates()
    #expect(report.restored.map(\.text) == ["Tag|~|0"])
    #expect(try tags(lab.a) == ["Tag|~|0 Work"])
    try lab.sync()
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func aPurgeIncludesWhatGaveWay(_ path: CapturePath) throws {
    let lab = try twoTags(path)
    try lab.a.mergeDuplicates()
    try lab.sync()
    try lab.a.run("DELETE FROM Tag")
    try lab.a.purge(try AnyRecordName("Tag|~|a"))
    try lab.sync()
    for store in [lab.a, lab.b] {
      #expect(throws: StoreError.self) { try store.restore(try AnyRecordName("Tag|~|b")) }
      #expect(try store.history(of: try AnyRecordName("Tag|~|b"))?.fields.map(\.value).contains(.text("red")) == false)
    }
    try expectEqual(lab)
  }

  @Test func aPurgeIncludesWhatGaveWayInTurn() throws {
    let lab = try chain()
    try lab.a.run("DELETE FROM Tag")
    try lab.a.purge(try AnyRecordName("Tag|~|a"))
    for name in ["b", "c"] {
      #expect(throws: StoreError.self) { try lab.a.restore(try AnyRecordName("Tag|~|\(name)")) }
    }
    try lab.sync()
    try expectEqual(lab)
  }

  @Test func aPurgeLeavesWhatNobodyDeleted() throws {
    let lab = try twoTags(.hook)
    try lab.a.mergeDuplicates()
    try lab.b.run("DELETE FROM Tag WHERE id = 'Tag|~|a'")
    try lab.sync()
    try lab.a.purge(try AnyRecordName("Tag|~|a"))
    #expect(try lab.a.mergeDuplicates().restored.map(\.text) == ["Tag|~|b"])
    #expect(try one(lab.a, "SELECT color FROM Tag") == "red")
  }

  /// c gave way to b, on a device that did not know a, and b to a.
  private func chain() throws -> Lab {
    let lab = try Lab(.hook, Self.schema)
    try lab.b.run("INSERT INTO Tag(id, name) VALUES('Tag|~|b', 'Work')")
    let c = try lab.scratch.store("c", schema: Self.schema, options: Lab.options(.hook))
    try c.run("INSERT INTO Tag(id, name, color) VALUES('Tag|~|c', 'Work', 'red')")
    try lab.a.run("INSERT INTO Tag(id, name) VALUES('Tag|~|a', 'Work')")
    for store in [lab.a, c] { try store.apply(try lab.b.delta()) }
    try lab.a.mergeDuplicates()
    try c.mergeDuplicates()
    try lab.a.apply(try c.delta())
    try lab.sync()
    #expect(try tags(lab.b) == ["Tag|~|a Work"])
    return lab
  }

  @Test func whatIsDeletedWithAllThatGaveWayToItStaysDeletedIfItGivesWayItself() throws {
    let lab = try Lab(.hook, Self.schema)
    try lab.b.run("INSERT INTO Tag(id, name) VALUES('Tag|~|b', 'Work')")
    let (c, d) = (
      try lab.scratch.store("c", schema: Self.schema, options: Lab.options(.hook)),
      try lab.scratch.store("d", schema: Self.schema, options: Lab.options(.hook))
    )
    try c.run("INSERT INTO Tag(id, name) VALUES('Tag|~|c', 'Work')")
    try lab.a.run("INSERT INTO Tag(id, name) VALUES('Tag|~|a', 'Work')")
    for store in [lab.a, c] { try store.apply(try lab.b.delta()) }
    try d.apply(try lab.a.delta())
    // One merges c into b and deletes that. Others merge b into a, and delete a without knowing of that.
    try c.mergeDuplicates()
    try c.run("DELETE FROM Tag")
    try lab.a.mergeDuplicates()
    try d.run("DELETE FROM Tag WHERE id = 'Tag|~|a'")
    for store in [c, d] { try lab.a.apply(try store.delta(since: lab.a.vector)) }
    #expect(try lab.a.mergeDuplicates().isEmpty && tags(lab.a) == [])
  }

  @Test func anEditThatADeleteHadNotSeenKeepsTheRecordAlsoIfItsAuthorMergedIt() throws {
    let lab = try twoTags(.hook)
    let c = try lab.scratch.store("c", schema: Self.schema, options: Lab.options(.hook))
    try c.apply(try lab.a.delta())
    try lab.a.mergeDuplicates()
    try lab.sync()
    try c.run("UPDATE Tag SET color = 'green' WHERE id = 'Tag|~|b'")
    try c.mergeDuplicates()
    try lab.b.run("DELETE FROM Tag WHERE id = 'Tag|~|a'")
    try lab.b.apply(try c.delta(since: lab.b.vector))
    #expect(try lab.b.mergeDuplicates().restored.map(\.text) == ["Tag|~|b"])
    #expect(try one(lab.b, "SELECT color FROM Tag") == "green")
  }

  @Test func defaultDataThatAPersonDeletedDoesNotReturn() throws {
    let lab = try Lab(.hook, Self.schema)
    var set = Self.seed
    set.adoptions = [SeedAdoption(type: "Tag", matching: ["name"])]
    try lab.a.seed(set)
    try lab.a.run("DELETE FROM Tag")
    try lab.b.run("INSERT INTO Tag(id, name) VALUES('Tag|~|old', 'Work')")
    try lab.sync()
    #expect(try lab.a.seed(set).adopted.map(\.text) == ["Tag|~|old"])
    #expect(try lab.a.mergeDuplicates().isEmpty && tags(lab.a) == [])
    try lab.sync()
    #expect(try lab.b.mergeDuplicates().isEmpty && tags(lab.b) == [])
  }

  @Test func aMemberThatWasTakenOutBeforeTheMergeMayComeAgain() throws {
    let lab = try twoTags(.hook)
    try lab.a.run(
      "INSERT INTO Note_tags(source, target) VALUES('Note|~|a', 'Tag|~|a')",
      "DELETE FROM Note_tags WHERE target = 'Tag|~|a'")
    try lab.sync()
    try lab.a.mergeDuplicates()
    try lab.b.run("INSERT INTO Note_tags(source, target) VALUES('Note|~|a', 'Tag|~|b')")
    try lab.sync()
    #expect(try lab.b.mergeDuplicates().members == 1)
    #expect(try one(lab.b, "SELECT target FROM Note_tags WHERE source = 'Note|~|a'") == "Tag|~|a")
    try lab.sync()
    try expectEqual(lab)
  }

  @Test(arguments: CapturePath.allCases) func aRecordThatWasReadBeforeTheMergeCanBeSaved(_ path: CapturePath) throws {
    let lab = try twoTags(path)
    try lab.a.mergeDuplicates()
    try lab.a.run("UPDATE Note SET text = 'z', tag = 'Tag|~|b' WHERE id = 'Note|~|b'")
    try lab.a.run("INSERT INTO Note(id, tag) VALUES('Note|~|n', 'Tag|~|b')")
    for id in ["b", "n"] { #expect(try one(lab.a, "SELECT tag FROM Note WHERE id = 'Note|~|\(id)'") == "Tag|~|a") }
    try lab.sync()
    try expectEqual(lab)
    #expect(throws: StoreError.self) { try lab.a.run("UPDATE Note SET tag = 'Tag|~|none'") }
  }

  @Test func aListKeepsItsOrderAndNoRecordBecomesItsOwnParent() throws {
    let schema = Schema([
      EntitySchema("Item", .text("name")),
      EntitySchema(
        "Tag", unique: [.on("name", .merge)], .text("name"), .reference("parent", to: "Tag"),
        .toMany("items", to: "Item", ordered: true)),
      EntitySchema("Note", .toMany("tags", to: "Tag", ordered: true)),
    ])
    let lab = try Lab(.hook, schema)
    try lab.a.run("INSERT INTO Tag(id, name) VALUES('Tag|~|a', 'Work')")
    for number in 1...6 { try lab.b.run("INSERT INTO Item(id) VALUES('Item|~|\(number)')") }
    try lab.b.run(
      "INSERT INTO Tag(id, name) VALUES('Tag|~|b', 'Work')", "INSERT INTO Tag(id, name) VALUES('Tag|~|p', 'Play')",
      "INSERT INTO Note(id) VALUES('Note|~|n')")
    for number in [4, 2, 6, 1, 5, 3] {
      try lab.b.run("INSERT INTO Tag_items(source, target) VALUES('Tag|~|b', 'Item|~|\(number)')")
    }
    for tag in ["b", "p"] { try lab.b.run("INSERT INTO Note_tags(source, target) VALUES('Note|~|n', 'Tag|~|\(tag)')") }
    try lab.sync()
    try lab.b.run("UPDATE Tag SET parent = 'Tag|~|a' WHERE id = 'Tag|~|b'")
    try lab.b.mergeDuplicates()
    func list(_ table: String) throws -> String? {
      try one(lab.b, "SELECT group_concat(target) FROM (SELECT target FROM \(table) ORDER BY position, target)")
    }
    #expect(try list("Tag_items") == [4, 2, 6, 1, 5, 3].map { "Item|~|\($0)" }.joined(separator: ","))
    #expect(try list("Note_tags") == "Tag|~|a,Tag|~|p")
    #expect(try one(lab.b, "SELECT parent FROM Tag WHERE id = 'Tag|~|a'") == nil)
  }

  @Test func aRefusalOfOneDeviceBringsNothingBack() throws {
    let lab = try twoTags(.hook)
    try lab.b.mergeDuplicates()
    try lab.a.run("CREATE TRIGGER none BEFORE UPDATE OF color ON Tag BEGIN SELECT raise(ABORT, 'no'); END")
    try lab.sync()
    #expect(try lab.a.mergeDuplicates().isEmpty)
  }

  @Test func aMemberOfOneThatGaveWayIsThatOfTheOther() throws {
    let lab = try twoTags(.hook)
    try lab.a.mergeDuplicates()
    try lab.b.run("INSERT INTO Note_tags(source, target) VALUES('Note|~|a', 'Tag|~|b')")
    try lab.sync()
    try lab.a.mergeDuplicates()
    try lab.sync()
    #expect(
      try one(lab.b, "SELECT group_concat(source || target) FROM (SELECT * FROM Note_tags ORDER BY source)")
        == "Note|~|aTag|~|a,Note|~|bTag|~|a")
    try expectEqual(lab)
  }

  // MARK: Refused

  @Test func rulesThatCannotBeMergedAreRefused() throws {
    let wrong: [(EntitySchema, String)] = [
      (EntitySchema("Tag", unique: [.on("n", .merge)], .integer("n")), "one text field"),
      (EntitySchema("Tag", unique: [.on(["a", "b"], .merge)], .text("a"), .text("b")), "one text field"),
      (EntitySchema("Tag", unique: [.on("n", .merge)], .text("n"), .counter("uses")), "counters"),
      (EntitySchema("Tag", unique: [.on("n", .merge)], .text("n"), .integer("best", keep: .greatest)), "greatest"),
      (
        EntitySchema("Tag", unique: [.on("n", .merge)], .text("n"), .reference("up", to: "Tag", onDelete: .cascade)),
        "no other owns"
      ),
    ]
    for (entity, reason) in wrong {
      let error = #expect(throws: StoreError.self) { try Store(inMemory: Schema([entity])) }
      #expect(error?.code == .invalidSchema && error?.message.contains(reason) == true, "\(entity)")
    }
  }

  @Test func withoutSuchARuleNothingIsMerged() throws {
    let schema = Schema([EntitySchema("Tag", unique: [.on("name", .rename)], .text("name"))])
    let lab = try Lab(.hook, schema)
    try lab.a.run("INSERT INTO Tag(id, name) VALUES('Tag|~|a', 'Work')")
    try lab.b.run("INSERT INTO Tag(id, name) VALUES('Tag|~|b', 'Work')")
    try lab.sync()
    let vector = try lab.a.vector
    #expect(try lab.a.mergeDuplicates().isEmpty)
    #expect(try lab.a.vector == vector && tags(lab.a).count == 2)
  }
}
