// Passkeys: before a form that is about one is sent, asks the browser for it and puts the answer into the form. Such a
// form is hidden where this script does not run or the browser knows no passkeys; whatever else is on the page goes on.
'use strict';
(() => {
  if (!globalThis.PublicKeyCredential) return;

  const decode = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), letter => letter.charCodeAt(0));
  const encode = buffer => btoa(Array.from(new Uint8Array(buffer), byte => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const describe = credential => ({ ...credential, id: decode(credential.id) });

  /** Has a new passkey made; the fields to send. */
  async function make(asked) {
    const { challenge, user, excludeCredentials } = asked;
    const { response } = await navigator.credentials.create({ publicKey: {
      ...asked,
      challenge: decode(challenge),
      user: { ...user, id: decode(user.id) },
      excludeCredentials: excludeCredentials.map(describe),
    } });
    return { client_data: response.clientDataJSON, attestation: response.attestationObject };
  }

  /** Has a challenge answered by one of the user's passkeys; the fields to send. */
  async function use(form) {
    const body = new URLSearchParams({ token: form.elements.token.value });
    const answer = await fetch(form.dataset.ask, { method: 'POST', body });
    if (answer.status === 403) return location.reload();
    if (!answer.ok) throw new Error(answer.status);
    const asked = await answer.json();
    const { rawId, response } = await navigator.credentials.get({ publicKey: { ...asked, challenge: decode(asked.challenge) } });
    return {
      credential: rawId,
      client_data: response.clientDataJSON,
      authenticator: response.authenticatorData,
      signature: response.signature,
      user_handle: response.userHandle ?? new ArrayBuffer(0),
    };
  }

  /** What went wrong, in words. */
  function words(error) {
    switch (error.name) {
      case 'InvalidStateError': return 'This device has a passkey of yours already.';
      case 'NotAllowedError': return 'No passkey was given. Try once more when you are ready.';
      case 'SecurityError': return 'The browser takes no passkeys at this address.';
      default: return error.message === '429' ? 'Too many tries. Wait a minute.' : 'It did not work. Try once more.';
    }
  }

  for (const form of document.querySelectorAll('form[data-passkey]')) {
    const { options, ask } = form.dataset;
    form.hidden = false;
    for (const other of document.querySelectorAll('[data-otherwise]')) other.hidden = true;
    if (!options && !ask) continue;
    const failed = form.querySelector('[data-failed]');
    form.addEventListener('submit', async event => {
      event.preventDefault();
      const button = form.querySelector('button');
      button.disabled = true;
      failed.hidden = true;
      try {
        const fields = await (options ? make(JSON.parse(options)) : use(form));
        if (!fields) return;
        for (const [name, buffer] of Object.entries(fields)) form.elements[name].value = encode(buffer);
        form.submit();
      } catch (error) {
        failed.querySelector('span').textContent = words(error);
        failed.hidden = false;
        button.disabled = false;
      }
    });
  }
})();
