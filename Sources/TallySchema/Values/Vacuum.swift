/// Which free pages of its file a compaction gives back, so that the file gets smaller.
///
/// ```swift
/// let report = try store.compact(vacuum: .incremental)
/// print("\(report.reclaimed) bytes given back")
/// ```
///
/// What is deleted leaves free pages, which are used again. A file that this version of Tally has created can also give
/// them back one by one (`PRAGMA auto_vacuum = INCREMENTAL`). That moves pages and renumbers no rows, so it is safe for
/// full-text indexes. It goes in slices of at most 50 ms, between which other writes go on, and can end anywhere.
public enum Vacuum: Sendable, Hashable {
  /// None of them: they stay in the file and are used again.
  case off
  /// All of them, if they are at least a quarter of the file and a mebibyte; otherwise none. An error is logged, and
  /// the next compaction tries again.
  case automatic
  /// All of them, however few. A file that was created without that setting gives none.
  case incremental
  /// All of them, and a file that was created without that setting is rebuilt whole, once.
  ///
  /// SQLite's `VACUUM` does it. It takes time and room: the file may need twice the size of its content for as long as
  /// it lasts, and no one can write meanwhile. Writes of this process wait; those of others fail with SQLITE_BUSY once
  /// they have waited for their own timeout. A crash leaves the file as it was. Rows of tables without an integer key
  /// may get other rowids, so it is refused with `StoreError.dependsOnRowIDs` where the file has a virtual table, or a
  /// trigger or view that names a rowid. An app that remembers rowids elsewhere must not ask for it.
  case full
}
