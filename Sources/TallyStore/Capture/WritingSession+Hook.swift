extension WritingSession {
  /// Runs writes of the store's to its own tables and to clocks with the hook of the connection off, unless triggers of
  /// the app's can follow: one on a table of the store's would write unnoticed. See `ChangeRecorder.whileDetached`.
  func withoutHook(_ body: () throws -> Void) throws {
    guard let recorder, !areTriggersOn else { return try body() }
    try recorder.whileDetached(body)
  }

  /// Runs other writes amid those.
  func withHook(_ body: () throws -> Void) throws {
    guard let recorder, !areTriggersOn else { return try body() }
    try recorder.whileAttached(body)
  }
}
