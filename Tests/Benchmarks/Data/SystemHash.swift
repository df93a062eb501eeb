import Foundation

/// SHA-256 of OpenSSL's library, which uses what the processor has for it: the least that hashing costs. It is looked
/// for at run time; nil where it is not installed.
final class SystemHash {
  private typealias NewContext = @convention(c) () -> OpaquePointer?
  private typealias FreeContext = @convention(c) (OpaquePointer?) -> Void
  private typealias Algorithm = @convention(c) () -> OpaquePointer?
  private typealias Begin = @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32
  private typealias Update = @convention(c) (OpaquePointer?, UnsafeRawPointer?, Int) -> Int32
  private typealias Finish =
    @convention(c) (
      OpaquePointer?, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt32>?
    ) -> Int32

  private let context: OpaquePointer
  private let free: FreeContext
  private let more: Update
  private let finish: Finish

  init?() {
    // The file stays open: what was looked up in it is used to the end.
    guard let library = dlopen("libcrypto.so.3", RTLD_NOW) ?? dlopen("libcrypto.so.1.1", RTLD_NOW),
      let new = dlsym(library, "EVP_MD_CTX_new"), let free = dlsym(library, "EVP_MD_CTX_free"),
      let algorithm = dlsym(library, "EVP_sha256"), let begin = dlsym(library, "EVP_DigestInit_ex"),
      let more = dlsym(library, "EVP_DigestUpdate"), let finish = dlsym(library, "EVP_DigestFinal_ex"),
      let context = unsafeBitCast(new, to: NewContext.self)()
    else { return nil }
    self.context = context
    self.free = unsafeBitCast(free, to: FreeContext.self)
    self.more = unsafeBitCast(more, to: Update.self)
    self.finish = unsafeBitCast(finish, to: Finish.self)
    let kind = unsafeBitCast(algorithm, to: Algorithm.self)()
    guard unsafeBitCast(begin, to: Begin.self)(context, kind, nil) == 1 else { return nil }
  }

  deinit { free(context) }

  func update(_ bytes: UnsafeRawBufferPointer) { _ = more(context, bytes.baseAddress, bytes.count) }

  /// The thirty-two bytes of the hash of all that was taken in.
  func finalized() -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 32)
    _ = finish(context, &hash, nil)
    return hash
  }
}
