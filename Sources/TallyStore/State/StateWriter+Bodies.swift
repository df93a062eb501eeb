import TallyCRDT

/// Bodies in `tally_hidden`, and bodies that are deleted.
extension StateWriter {
  func putHidden(_ kind: KindNumber, _ key: String, _ body: [UInt8], _ place: Place?) throws {
    if case .hidden(let number) = place {
      let update = try connection.statement("UPDATE tally_hidden SET body = ? WHERE n = ?")
      update.bind(1, body)
      update.bind(2, number)
      return try update.run()
    }
    facts.hiddenKinds.insert(kind)
    let insert = try connection.statement("INSERT INTO tally_hidden(kind, key, body) VALUES(?, ?, ?)")
    insert.bind(1, kind)
    insert.bind(2, key)
    insert.bind(3, body)
    try insert.run()
  }

  func deleteExtra(_ number: Int) throws {
    let delete = try connection.statement("DELETE FROM tally_extra WHERE n = ?")
    delete.bind(1, number)
    try delete.run()
  }

  func deleteHidden(_ number: Int) throws {
    let delete = try connection.statement("DELETE FROM tally_hidden WHERE n = ?")
    delete.bind(1, number)
    try delete.run()
  }
}
