import ArgumentParser
import Foundation
import TallyStore

/// Words of a command line that name nothing, and what they were meant to name.
enum Misspelling {
  /// A word that stands where a command should, and is none.
  struct Command {
    let word: String
    /// The commands that may stand there.
    let names: [String]
  }

  /// The first word of a command line that is no command, help for one included; nil if all are.
  static func command(in words: [String]) -> Command? {
    let isHelp = words.first == "help"
    var configuration = TallyTool.configuration
    for word in words.dropFirst(isHelp ? 1 : 0) {
      let commands = configuration.subcommands.map { $0.configuration }
      guard !commands.isEmpty, !word.hasPrefix("-") else { return nil }
      guard let next = commands.first(where: { $0.commandName == word }) else {
        if isHelp, word == "help" { return nil }
        let names = commands.compactMap { $0.shouldDisplay ? $0.commandName : nil }
        // What may be left out may be followed by a file.
        let mayBeFile = !isHelp && configuration.defaultSubcommand != nil
        if mayBeFile, Spelling.nearest(to: word, among: names) == nil || access(word, F_OK) == 0 { return nil }
        return Command(word: word, names: names + ["help"])
      }
      configuration = next
    }
    return nil
  }

  /// The end of a message about a file that is not there: the one beside it that may have been meant.
  static func hint(forFile path: String) -> String {
    let url = URL(fileURLWithPath: path)
    let folder = url.deletingLastPathComponent()
    // Where the folder cannot be read, there is nothing to say.
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path), names.count <= fileLimit,
      let name = Spelling.nearest(to: url.lastPathComponent, among: names.filter { !isBesideStore($0) }),
      name != url.lastPathComponent
    else { return "" }
    return "; did you mean \(shown((path as NSString).deletingLastPathComponent.isEmpty ? name : beside(path, name)))?"
  }

  private static func beside(_ path: String, _ name: String) -> String {
    ((path as NSString).deletingLastPathComponent as NSString).appendingPathComponent(name)
  }

  /// The most files of a folder that are looked at.
  private static let fileLimit = 10_000

  /// Whether it is a file that a store has beside it.
  private static func isBesideStore(_ name: String) -> Bool {
    ["-wal", "-shm", "-journal", "-incarnation"].contains { name.hasSuffix($0) }
  }
}
