import TallyStore

extension Store {
  /// Reads for seconds without keeping anybody waiting. A store that is read only has one connection; then `body` gets
  /// the same file on connections of its own.
  /// - Throws: what opening the file, `body` and closing throw.
  package func withoutOccupying<T>(_ body: (Store) throws -> T) throws -> T {
    guard let file, options.isReadOnly, try isInPlace() else { return try body(self) }
    let other = try Store(existing: file, options: options)
    let result = Result { try body(other) }
    // What the body says comes first.
    do {
      try other.close()
    } catch {
      _ = try result.get()
      throw error
    }
    return try result.get()
  }
}
