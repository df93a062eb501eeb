#if Relay
  import Foundation
  import Testing

  /// What tests make does not outlive them.
  @Suite(.timeLimit(.minutes(5))) struct LeftoverTests {
    private struct Wrong: Error {}

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// A folder, a relay, a process that a test has not ended, a backup: all of it goes when the test throws.
    @Test(arguments: StorageKind.available) func aTestThatFailsLeavesNothing(_ kind: StorageKind) async throws {
      var (paths, pid, port) = ([String](), pid_t(0), 0)
      await #expect(throws: Wrong.self) {
        try await Leftovers.run {
          let place = try await StoragePlace(kind)
          try await place.backUp()
          let relay = try await RelayFixture.start(in: place)
          let folder = try RelayFixture.newFolder()
          let (process, _) = try await RelayProcess.start(
            "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", in: folder)
          let all = [place.folder.path, place.folder.path + "-backup", folder.path]
          for path in all { #expect(exists(path)) }
          #expect(kill(process.pid, 0) == 0)
          (paths, pid, port) = (all, process.pid, relay.port)
          throw Wrong()
        }
      }
      #expect(paths.filter(exists).isEmpty)
      let isGone = kill(pid, 0) == -1 && errno == ESRCH
      #expect(isGone)
      #expect(throws: RawHTTP.Failure.self) { close(try RawHTTP.connect(port)) }
    }

    @Test(.enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"))
    func aServerGoes() async throws {
      var folder = ""
      await #expect(throws: Wrong.self) {
        try await Leftovers.run {
          let cluster = try await PostgresCluster.start()
          folder = cluster.folder
          #expect(exists(cluster.folder))
          throw Wrong()
        }
      }
      #expect(!exists(folder))
    }

    @Test(.enabled(if: NetworkPair.isAvailable, "only root on Linux may make a network"))
    func aNetworkGoes() async throws {
      var name = ""
      await #expect(throws: Wrong.self) {
        try await Leftovers.run {
          let made = try NetworkPair().prefix[3]
          #expect(try NetworkPair.names().contains(made))
          name = made
          throw Wrong()
        }
      }
      #expect(try !NetworkPair.names().contains(name))
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "only root may mount the small disk"))
    func aDiskGoes() async throws {
      var folder = ""
      await #expect(throws: Wrong.self) {
        try await Leftovers.run {
          let disk = try SmallDisk(mebibytes: 1)
          folder = disk.folder.path
          #expect(exists(disk.folder.path))
          throw Wrong()
        }
      }
      #expect(!exists(folder))
    }
  }
#endif
