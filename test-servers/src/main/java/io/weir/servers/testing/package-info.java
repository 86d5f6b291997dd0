// SPDX-License-Identifier: Apache-2.0
/**
 * Servers for tests: one suite, two ways to get a server (local processes, or containers). The
 * system property {@code weir.test.servers} chooses: {@code process} (default) or {@code
 * containers}.
 */
@NullMarked
package io.weir.servers.testing;

import org.jspecify.annotations.NullMarked;
