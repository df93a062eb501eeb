#if Inspector
  /// The files of the pages, which are part of the program: an installed tool is one file.
  enum WebFiles {
    private static let script = "text/javascript"
    private static let files: [String: (type: String, bytes: [UInt8])] = [
      "/": ("text/html", PackageResources.index_html),
      "/style.css": ("text/css", PackageResources.style_css),
      "/favicon.ico": ("image/svg+xml", PackageResources.icon_svg),
      "/icon.svg": ("image/svg+xml", PackageResources.icon_svg),
      "/app.js": (script, PackageResources.app_js),
      "/api.js": (script, PackageResources.api_js),
      "/compare.js": (script, PackageResources.compare_js),
      "/conflicts.js": (script, PackageResources.conflicts_js),
      "/data.js": (script, PackageResources.data_js),
      "/dom.js": (script, PackageResources.dom_js),
      "/lanes.js": (script, PackageResources.lanes_js),
      "/log.js": (script, PackageResources.log_js),
      "/peers.js": (script, PackageResources.peers_js),
      "/picker.js": (script, PackageResources.picker_js),
      "/record.js": (script, PackageResources.record_js),
      "/report.js": (script, PackageResources.report_js),
      "/search.js": (script, PackageResources.search_js),
      "/sql.js": (script, PackageResources.sql_js),
      "/storage.js": (script, PackageResources.storage_js),
      "/time.js": (script, PackageResources.time_js),
      "/words.js": (script, PackageResources.words_js),
    ]

    /// The file under a path; nil if there is none. Paths are names in a list, and lead to no file system.
    static func response(_ path: String) -> InspectorResponse? {
      files[path].map { InspectorResponse(type: $0.type, $0.bytes) }
    }
  }
#endif
