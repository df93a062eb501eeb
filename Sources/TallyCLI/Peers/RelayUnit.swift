#if Relay
  import Foundation

  /// A service of systemd that runs a relay. `Examples/Relay/Hosting/tally-relay.service` is one of the usual places.
  struct RelayUnit {
    let user: String
    let tool: String
    let data: String?
    let database: String?
    let listen: String
    let admin: String

    /// Where this program is.
    static func tool() throws -> String {
      guard let path = Bundle.main.executablePath else {
        throw Failure(.software, "the tool does not know where it is")
      }
      return URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }

    /// - Throws: `Failure` for a path that systemd would read as something else.
    func text() throws -> String {
      for path in [tool, data, database].compactMap({ $0 }) {
        let isPlain = path.utf8.allSatisfy { byte in
          UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "/._-+@".utf8.contains(byte)
        }
        guard isPlain else {
          throw Failure(.usage, "a service cannot name \(shown(path)): letters, digits and /._-+@ only")
        }
      }
      let place = data.map { "--data \($0)" } ?? "--postgres-file \(database ?? "")"
      return """
        [Unit]
        Description=Tally relay
        After=network.target\(data == nil ? " postgresql.service" : "")
        # It starts again however often it has failed.
        StartLimitIntervalSec=0

        [Service]
        ExecStart=\(tool) relay \(place) --listen \(listen) --admin \(admin) --log json
        # Certificates and a log file are opened again.
        ExecReload=/bin/kill -HUP $MAINPID
        User=\(user)
        \(storage)
        Restart=on-failure
        RestartSec=2
        # Requests that are under way get twenty seconds.
        TimeoutStopSec=30
        LimitNOFILE=65536
        UMask=0077
        NoNewPrivileges=yes
        ProtectSystem=strict
        ProtectHome=yes
        PrivateTmp=yes
        PrivateDevices=yes
        ProtectKernelTunables=yes
        ProtectControlGroups=yes
        RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
        MemoryDenyWriteExecute=yes

        [Install]
        WantedBy=multi-user.target

        """
    }

    /// What makes the folder of the file one that may be written.
    private var storage: String {
      guard let data else { return "# Everything stands in the database." }
      let folder = URL(fileURLWithPath: data).deletingLastPathComponent().path
      guard folder.hasPrefix("/var/lib/"), !folder.dropFirst(9).contains("/") else { return "ReadWritePaths=\(folder)" }
      return "StateDirectory=\(folder.dropFirst(9))\nStateDirectoryMode=0700"
    }
  }
#endif
