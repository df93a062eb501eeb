extension WritingSession {
  /// Runs writes that can fire no trigger, with the hook of the connection off. See `ChangeRecorder.whileDetached`.
  func withoutHook(_ body: () throws -> Void) throws {
    guard let recorder else { return try body() }
    try recorder.whileDetached(body)
  }

  /// Runs other writes amid those.
  func withHook(_ body: () throws -> Void) throws {
    guard let recorder else { return try body() }
    try recorder.whileAttached(body)
  }
}
