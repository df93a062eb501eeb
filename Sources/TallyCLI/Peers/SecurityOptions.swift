import ArgumentParser
import Foundation
import Tally

/// The options by which two sides that meet over the network authenticate each other.
struct SecurityOptions: ParsableArguments {
  @Option(help: "A file with the secret that both sides share: 16 bytes or more, kept from others.")
  var secretFile: String?
  @Option(help: "A file with this side's certificate in PEM; with it a server speaks TLS.")
  var certificate: String?
  @Option(help: "A file with the private key of the certificate, in PEM.")
  var key: String?
  @Option(
    help: ArgumentHelp(
      "Whose certificates count: those of the authorities in a PEM file, or 'system'; a peer with a secret may say 'any'.",
      valueName: "FILE"))
  var trust: String?

  /// Whether anything is said about security.
  var isGiven: Bool { [secretFile, certificate, key, trust].contains { $0 != nil } }

  func validate() throws {
    guard (certificate == nil) == (key == nil) else { throw ValidationError("--certificate and --key go together") }
    guard trust != "any" || secretFile != nil else { throw ValidationError("--trust any needs --secret-file") }
  }

  /// The bytes of the secret, without the end of the line.
  func secret() throws -> [UInt8]? {
    guard let secretFile else { return nil }
    let bytes = try SecretFile.bytes(in: secretFile)
    guard (16...4096).contains(bytes.count) else {
      throw Failure(.badData, "\(secretFile) holds \(bytes.count) bytes; a secret has 16 to 4096")
    }
    return bytes
  }

  #if !Network
    func transport(host: String, port: Int) throws -> any Transport { throw Self.noNetwork }

    /// The error of a tool that was built without the package trait.
    static let noNetwork = Failure(.usage, "this tally was built without the network: swift build --traits Network")
  #endif
}
