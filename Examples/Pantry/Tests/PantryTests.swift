import Foundation
import Observation
import Tally
import Testing

@testable import Pantry

/// The app's own rules. How stores merge is Tally's business, and tested there.
@MainActor @Suite(.timeLimit(.minutes(5))) final class PantryTests {
  private let (phone, tablet): (Store, Store)
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pantry-\(UUID().uuidString)")

  init() throws {
    (phone, tablet) = (try Pantry.open(nil), try Pantry.open(nil))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Waits, without polling, until what is observed is as wanted.
  private func until(_ isWanted: () -> Bool) async {
    while !isWanted() {
      await withCheckedContinuation { wait in
        withObservationTracking({ _ = isWanted() }, onChange: { wait.resume() })
      }
    }
  }

  private func titles(_ model: ListModel) -> [String] { model.rows.value.map(\.item.title) }
  private func items(_ store: Store) throws -> [Item] { try store.read { try Item.fetchAll($0) } }
  private func sync() throws { #expect(try phone.sync(with: tablet).isConverged) }

  @Test func twoNewDevicesHaveOneListAndEachTagOnce() throws {
    try sync()
    #expect(try phone.read(ShoppingList.fetchAll) == [ShoppingList(id: Pantry.groceries, title: "Groceries")])
    #expect(try phone.read { try String.fetchSet($0, sql: "SELECT name FROM Tag") }.count == 4)
  }

  /// Two people enter one shop, each on a device without a network. Both stay, with all that refers to them.
  @Test func twoShopsNeverShowOneName() throws {
    let (mine, theirs) = (Shop(name: "Market"), Shop(name: "Market"))
    try phone.write { db in
      try mine.insert(db)
      try Item(title: "Milk", shop: mine.id).insert(db)
    }
    try tablet.write { db in try theirs.insert(db) }
    try sync()
    for device in [phone, tablet] {
      let names = try device.read { try Shop.fetchAll($0).map { $0.name ?? "" } }
      #expect(Set(names).count == 2 && names.contains("Market") && names.allSatisfy { $0.hasPrefix("Market") })
      #expect(try device.read { try ContestedValue.fetchAll($0) }.map(\.wanted) == [.text("Market")])
    }
    #expect(throws: DatabaseError.self) { try phone.write { db in try Shop(name: "Market").insert(db) } }
    // Called something else, it leaves the other one the name.
    let second = try #require(try phone.read { try ContestedValue.fetchOne($0) }?.name)
    try phone.write { db in try db.execute(sql: "UPDATE Shop SET name = 'Bazaar' WHERE id = ?", arguments: [second]) }
    try sync()
    #expect(try tablet.read { try String.fetchSet($0, sql: "SELECT name FROM Shop") } == ["Market", "Bazaar"])
    #expect(try tablet.read { try ContestedValue.fetchCount($0) } == 0)
  }

  @Test func theListIsLiveWithItsTagsInOrder() async throws {
    let model = ListModel(phone)
    try await ListModel(tablet).add("Milk", amount: 2, tags: ["organic", "dairy"])
    try sync()
    await until { titles(model) == ["Milk"] }
    #expect(model.rows.value[0].tags.map(\.name) == ["dairy", "organic"])
    try await model.add("Bread")
    await until { titles(model) == ["Milk", "Bread"] }
    let (milk, bread) = (model.rows.value[0].id, model.rows.value[1].id)
    try await model.move(milk, after: bread)
    await until { titles(model) == ["Bread", "Milk"] }
    try await model.move(milk, after: nil)
    await until { titles(model) == ["Milk", "Bread"] }
    try await model.edit(milk) { $0.isBought = true }
    await until { titles(model) == ["Bread", "Milk"] }
  }

  @Test func searchFindsWhatAnotherDeviceHasWritten() async throws {
    let model = ListModel(phone)
    for title in ["Oat milk", "Bread"] { try await ListModel(tablet).add(title) }
    model.searchText = "mil"
    try sync()
    await until { titles(model) == ["Oat milk"] }
    model.searchText = ""
    await until { titles(model) == ["Oat milk", "Bread"] }
  }

  @Test func aRemovedItemComesBackWithItsTagsOnAllDevices() async throws {
    let (model, other) = (ListModel(phone), ListModel(tablet))
    try await model.add("Milk", tags: ["dairy"])
    await until { titles(model) == ["Milk"] }
    try await model.remove(model.rows.value[0].id)
    try sync()
    #expect(try items(tablet) == [])
    try model.undoRemove()
    try sync()
    await until { other.rows.value.first?.tags.map(\.name) == ["dairy"] }
  }

  @Test func theBinIsLiveAndPurgesOnAllDevices() async throws {
    let (model, bin, other) = (ListModel(phone), BinModel(phone), BinModel(tablet))
    for title in ["Milk", "Bread"] { try await model.add(title) }
    for item in try items(phone) { try await model.remove(item.id) }
    await until { bin.removed.value.map(\.line) == ["Bread, not synced yet", "Milk, not synced yet"] }
    try sync()
    await until { other.removed.value.count == 2 && other.removed.value[0].restorableUntil != nil }
    try bin.restore(bin.removed.value[0])
    try other.purge(other.removed.value[1])
    await until { other.removed.value.map(\.values["title"]) == [.text("Bread")] }
    try sync()
    await until { bin.removed.value.isEmpty && other.removed.value.isEmpty }
    await until { titles(model) == ["Bread"] }
  }

  @Test func anEditThatLostCanBeTakenBack() async throws {
    let conflicts = ConflictModel(phone)
    try await ListModel(phone).add("Milk")
    try sync()
    let id = try #require(try items(phone).first).id
    try await ListModel(phone).edit(id) { $0.title = "Oat milk" }
    try await ListModel(tablet).edit(id) { ($0.title, $0.amount) = ("Soy milk", 3) }
    try sync()
    await until { conflicts.count.value == 1 }
    let (conflict, won) = (try #require(try conflicts.conflicts().first), try items(phone)[0])
    #expect(won.amount == 3 && conflict.line.hasPrefix("title: "))
    try conflicts.takeLoser(conflict)
    await until { conflicts.count.value == 0 }
    try sync()
    #expect(Set([won.title, try items(tablet)[0].title]) == ["Oat milk", "Soy milk"])
  }

  @Test func theFirstReleaseAndThisOneSyncAndSearchOutlivesTheUpgrade() throws {
    var first = Pantry.schema
    let item = try #require(first.entities.firstIndex { $0.type == "Item" })
    let amount = try #require(first.entities[item].fields.firstIndex { $0.name == "amount" })
    first.entities[item].fields[amount].name = "quantity"
    let (old, file) = (try Pantry.open(nil, schema: first), folder.appendingPathComponent("pantry.tally").path)
    let before = try Pantry.open(file, schema: first)
    try before.write { try $0.execute(sql: "INSERT INTO Item(id, title, quantity) VALUES('Item|~|1', 'Tea', 5)") }
    try before.sync(with: old)
    try before.close()
    let now = try Pantry.open(file)
    try now.write { try $0.execute(sql: "UPDATE Item SET amount = 6, list = ?", arguments: [Pantry.groceries]) }
    let found = try now.read { try ItemRow.items(of: Pantry.groceries, matching: "te").fetchAll($0) }
    #expect(found.map(\.item.amount) == [6])
    try now.sync(with: old)
    #expect(try old.read { try Int.fetchOne($0, sql: "SELECT quantity FROM Item") } == 6)
  }

  @Test func twoProcessesSyncAndTheTerminalShowsIt() async throws {
    let other = folder.appendingPathComponent("tablet.tally").path
    try await Terminal(store: try Pantry.open(other)).run(["add", "Apples", "6", "due=2030-01-05", "tag=fruit"])
    let program = (Bundle.main.executableURL ?? Bundle.main.bundleURL).deletingLastPathComponent().path + "/Pantry"
    let (lines, feed) = AsyncStream.makeStream(of: String.self)
    let terminal = Terminal(store: phone, say: { feed.yield($0) })
    try await terminal.run(["sync", "'\(program)' '\(other)' serve"])
    try await terminal.run(["list", "appl"])
    try await terminal.run(["add", "Bread"])
    try await terminal.run(["devices"])
    feed.finish()
    var said: [String] = []
    for await line in lines { said.append(line) }
    #expect(said.prefix(2) == ["up to date", "· 6 × Apples  due 2030-01-05  #fruit"])
    // The other process has introduced itself, and is remembered after it has ended.
    #expect(said.last?.hasPrefix("\(ProcessInfo.processInfo.hostName) is behind by 1, seen ") == true)
    await #expect(throws: Terminal.Misuse.self) { try await terminal.run(["sync", "exit 1"]) }
  }
}
