import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

extension Capture {
  /// Refuses the delete of a record that a reference denies (`DeleteRule.deny`). One that others have committed is not
  /// refused: it has happened, and the app sees it, so what refers to the record reads as null, here as everywhere.
  /// - Throws: `StoreError.deleteDenied`.
  func checkDenied(_ name: AnyRecordName) throws {
    do {
      try findDenial(of: name)
    } catch  where origin != .app {
      environment.logger.warning("a record was deleted from outside", metadata: ["reason": "\(error)"])
    }
  }

  private func findDenial(of name: AnyRecordName) throws {
    #if PlantedFaults
      if environment.planted.contains(.denyNotChecked) { return }
    #endif
    for (_, column, rows) in catalog.referrers[name.type] ?? [] where column.reference?.onDelete == .deny {
      let query = try transaction.connection.statement(rows)
      query.bind(1, name.text)
      defer { query.reset() }
      if try query.step() {
        throw StoreError(
          .deleteDenied, "\(name) cannot be deleted: \(query.text(0) ?? "a record").\(column.name) refers to it")
      }
    }
  }
}
