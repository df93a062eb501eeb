#if Relay
  /// What a relay holds and what that takes, as Prometheus reads it.
  enum StorageMetrics {
    static func lines(_ figures: StorageFigures, limit: Int64?) -> [String] {
      var lines: [String] = []
      func gauge(_ name: String, _ help: String, _ value: Int64?) {
        guard let value else { return }
        lines += ["# HELP \(name) \(help)", "# TYPE \(name) gauge", "\(name) \(value)"]
      }
      gauge("tally_relay_spaces", "Spaces that are there.", Int64(figures.spaces))
      gauge("tally_relay_deleted_spaces", "Deleted spaces whose content is kept.", Int64(figures.deletedSpaces))
      gauge("tally_relay_entries", "Entries of all spaces.", figures.entries)
      gauge("tally_relay_content_bytes", "What counts against quotas, of all spaces.", figures.bytes)
      gauge("tally_relay_file_bytes", "Size of the file.", figures.file?.bytes)
      gauge("tally_relay_file_limit_bytes", "The most that the file may have.", figures.file == nil ? nil : limit)
      gauge("tally_relay_log_bytes", "Size of the write-ahead log beside the file.", figures.file?.logBytes)
      gauge("tally_relay_disk_bytes", "Size of the disk that the file is on.", figures.file?.diskBytes)
      gauge("tally_relay_disk_free_bytes", "What of that disk the relay can still take.", figures.file?.freeBytes)
      gauge("tally_relay_database_bytes", "Size of the tables and indexes in the database.", figures.databaseBytes)
      return lines
    }
  }
#endif
