// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import io.weir.topics.settings.Settings.InvalidSettingException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Where the keys of an issuer are (a JWK set, RFC 7517): an https URL, a plain one of this machine,
 * or a file. Immutable.
 *
 * @param variable the setting that names it
 * @param text its value
 */
public record JwksPlace(String variable, String text) {
  /**
   * Refuses a place that cannot be one.
   *
   * @throws InvalidSettingException if it is neither such a URL nor a file that can be read
   */
  public void requireValid() {
    if (isUrl()) {
      url();
    } else if (!Files.isReadable(Path.of(text))) {
      throw refused();
    }
  }

  boolean isUrl() {
    return text.toLowerCase(Locale.ROOT).matches("https?://.*");
  }

  Path file() {
    return Path.of(text);
  }

  URL url() {
    try {
      URI uri = URI.create(text);
      // over plain HTTP whoever stands between could give keys of their own
      if (uri.getHost() != null
          && ("https".equals(uri.getScheme()) || AccessSettings.isLoopback(uri.getHost()))) {
        return uri.toURL();
      }
    } catch (IllegalArgumentException | MalformedURLException invalid) {
      // refused below, with the same message
    }
    throw refused();
  }

  private InvalidSettingException refused() {
    return new InvalidSettingException(
        variable + " must be an https URL or a file that can be read, is '" + text + "'");
  }

  /** Returns the file, or the URL's host; a URL may have secrets behind it. */
  @Override
  public String toString() {
    return isUrl() ? url().getHost() : text;
  }
}
