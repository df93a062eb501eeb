extension WritingSession {
  /// Runs writes of the store's to its own tables and to clocks with the hook of the connection off, unless triggers of
  /// the app's can follow. See `ChangeRecorder.whileDetached`.
  func withoutHook(_ body: () throws -> Void) throws {
    guard let recorder, !firesTriggers else { return try body() }
    try recorder.whileDetached(body)
  }

  /// Runs other writes amid those.
  func withHook(_ body: () throws -> Void) throws {
    guard let recorder, !firesTriggers else { return try body() }
    try recorder.whileAttached(body)
  }

  /// Whether writing a clock, or a row of the store's own, can fire a trigger. An UPDATE of a clock can fire TEMP
  /// triggers, which SQLite does not switch off.
  private var firesTriggers: Bool { areTriggersOn || changesSchema || !reader.catalog.updatesClocks.isEmpty }
}
