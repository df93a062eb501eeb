import Foundation
import Tally
import Testing

@Suite struct ContainerTests {
  private func folder() -> URL {
    FileManager.default.temporaryDirectory.appendingPathComponent("tally-\(UUID().uuidString)")
  }

  private func container(_ folder: URL) throws -> Container {
    try Container(directory: folder, schema: Schema(Note.self))
  }

  private func texts(_ store: Store) throws -> [String] {
    try store.read { try Note.fetchAll($0) }.compactMap(\.text).sorted()
  }

  @Test func signingOutAndInAsSomebodyElseLosesNothing() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try container(folder)
    try World.insert(1, "nobody", container.store())
    try World.insert(1, "ann", container.signIn("ann", localData: .keepApart))
    #expect(try texts(container.store()) == ["ann 0"])
    try World.insert(1, "bob", container.signIn("bob/../ann", localData: .copy))
    #expect(try texts(container.store()) == ["bob 0", "nobody 0"])
    #expect(try texts(container.signOut()) == ["nobody 0"])
    #expect(try texts(container.signIn("ann", localData: .keepApart)) == ["ann 0"])
    #expect(container.people == ["ann", "bob/../ann"])
    for store in [Account.local, .person("ann"), .person("bob/../ann")] {
      #expect(try container.store(of: store).verify().problems == [])
    }
  }

  @Test func movedLocalDataIsInTheAccountAndPutAside() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try container(folder)
    try World.insert(2, "nobody", container.store())
    #expect(try texts(container.signIn("ann", localData: .move)) == ["nobody 0", "nobody 1"])
    #expect(try texts(container.signOut()) == [])
    let aside = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasPrefix("local-") && $0.hasSuffix(".sqlite")
    }
    #expect(aside.count == 1)
    let kept = try Store(existing: folder.appendingPathComponent(aside[0]).path)
    #expect(try texts(kept).count == 2)
    try World.insert(1, "again", container.store())
    #expect(try texts(container.signIn("ann", localData: .move)).count == 3)
  }

  @Test func theAccountIsRememberedAndErasedOnlyOnRequest() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    do {
      let first = try container(folder)
      try World.insert(1, "ann", first.signIn("ann", localData: .keepApart))
      try first.store().close()
    }
    let second = try container(folder)
    #expect(second.current == .person("ann"))
    #expect(try texts(second.store()) == ["ann 0"])
    _ = try second.signOut()
    try second.erase(.person("ann"))
    #expect(second.people == [])
    #expect(try texts(second.signIn("ann", localData: .keepApart)) == [])
  }

  @Test func aListOfANewerVersionIsRefusedAndLeftAlone() throws {
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let list = folder.appendingPathComponent("accounts.json")
    try Data(#"{"version":2,"people":{}}"#.utf8).write(to: list)
    #expect(throws: StoreError.self) { try container(folder) }
    try Data("x".utf8).write(to: list)
    #expect(throws: StoreError.self) { try container(folder) }
    #expect(try Data(contentsOf: list) == Data("x".utf8))
  }
}
