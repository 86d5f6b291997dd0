// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A script and the name under which a server keeps it.
 *
 * @param body the source
 * @param sha1 SHA-1 of the source in hexadecimal
 */
record TakeTokensScript(String body, String sha1) {
  private static final String RESOURCE = "take_tokens.lua";

  /** Reads the script beside this class. */
  static TakeTokensScript load() {
    try (InputStream in = TakeTokensScript.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IllegalStateException("resource is missing: " + RESOURCE);
      }
      return of(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  static TakeTokensScript of(String body) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-1").digest(body.getBytes(StandardCharsets.UTF_8));
      return new TakeTokensScript(body, HexFormat.of().formatHex(digest));
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException("every Java platform has SHA-1", missing);
    }
  }
}
