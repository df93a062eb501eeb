/// The free pages of its file that a compaction returns to the file system to shrink the file.
///
/// ```swift
/// let report = try store.compact(vacuum: .incremental)
/// print("\(report.reclaimed) bytes given back")
/// ```
///
/// Deleted data leaves free pages, which are used again. A file that was created by this version of Tally can also
/// return them one by one (`PRAGMA auto_vacuum = INCREMENTAL`). That moves pages but renumbers no rows, so it is safe
/// for full-text indexes. It runs in slices of at most 50 ms, between which others can write, and can stop at any
/// point.
public enum Vacuum: Sendable, Hashable {
  /// No pages: they stay in the file and are used again.
  case off
  /// All free pages, if they make up at least a quarter of the file and a mebibyte; otherwise none. An error is logged,
  /// and the next compaction tries again.
  case automatic
  /// All free pages, however few. A file that was created without that setting returns none.
  case incremental
  /// All free pages. A file that was created without that setting is rebuilt whole, once.
  ///
  /// SQLite's `VACUUM` rebuilds it, which takes time and space: the file may need twice the size of its content until
  /// it is done, and nobody can write meanwhile. Writes of this process wait; those of other processes fail with
  /// SQLITE_BUSY after their own timeout. A crash leaves the file as it was. Rows of tables without an integer key may
  /// get other rowids, so it is refused with `StoreError.dependsOnRowIDs` if the file has a virtual table, or a trigger
  /// or view that names a rowid. An app that remembers rowids elsewhere must not use it.
  case full
}
