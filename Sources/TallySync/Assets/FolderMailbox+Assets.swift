extension FolderMailbox {
  /// Removes what iCloud has put in the place of files that it has taken from this device's disk: `.<name>.icloud`.
  /// With that it removes the files. Tries all of them and throws the first error.
  func removePlaceholders(of names: [String]) throws {
    var failure: (any Error)?
    for name in names {
      let path = "\(url.path)/.\(name).icloud"
      guard FolderFiles.item(name, at: path, isPlaceholder: true)?.state == .notDownloaded else { continue }
      do { try FolderFiles.remove(path) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }
}
